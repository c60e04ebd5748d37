package api

// Text reads an optional field; nil gives "".
func Text[S ~string](s *S) string {
	if s == nil {
		return ""
	}
	return string(*s)
}
