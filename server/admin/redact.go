package admin

import (
	"fmt"

	annotations "github.com/cncf/xds/go/udpa/annotations"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// redact hides the value of every field that Envoy's API marks as sensitive (passwords, keys and tokens). It
// covers the message and all messages inside, including those packed in an Any. If a packed message cannot be
// read, it returns an error; the caller must then show nothing of the message.
func redact(message protoreflect.Message) (err error) {
	if packed, ok := message.Interface().(*anypb.Any); ok {
		return redactPacked(packed)
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case isSensitive(field):
			replace(message, field)
		case field.IsMap():
			if field.MapValue().Message() != nil {
				value.Map().Range(func(_ protoreflect.MapKey, one protoreflect.Value) bool {
					err = redact(one.Message())
					return err == nil
				})
			}
		case field.Message() == nil:
		case field.IsList():
			for i := 0; i < value.List().Len() && err == nil; i++ {
				err = redact(value.List().Get(i).Message())
			}
		default:
			err = redact(value.Message())
		}
		return err == nil
	})
	return err
}

// redactPacked redacts the message inside an Any. It returns an error if the message cannot be decoded or
// encoded.
func redactPacked(packed *anypb.Any) error {
	message, err := packed.UnmarshalNew()
	if err != nil {
		return fmt.Errorf("read a %s: %w", packed.TypeUrl, err)
	}
	if err := redact(message.ProtoReflect()); err != nil {
		return err
	}
	body, err := proto.Marshal(message)
	if err != nil {
		return fmt.Errorf("write a %s: %w", packed.TypeUrl, err)
	}
	packed.Value = body
	return nil
}

// isSensitive reports whether Envoy's API marks a field as sensitive.
func isSensitive(field protoreflect.FieldDescriptor) bool {
	sensitive, _ := proto.GetExtension(field.Options(), annotations.E_Sensitive).(bool)
	return sensitive
}

// replace hides the value of a sensitive field. A string, bytes or a DataSource becomes "[redacted]". A list, a
// map or a value of another type is removed.
func replace(message protoreflect.Message, field protoreflect.FieldDescriptor) {
	source := (&corev3.DataSource{}).ProtoReflect().Descriptor().FullName()
	switch {
	case field.IsList() || field.IsMap():
		message.Clear(field)
	case field.Kind() == protoreflect.StringKind:
		message.Set(field, protoreflect.ValueOfString(redacted))
	case field.Kind() == protoreflect.BytesKind:
		message.Set(field, protoreflect.ValueOfBytes([]byte(redacted)))
	case field.Message() != nil && field.Message().FullName() == source:
		hidden := &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: redacted}}
		message.Set(field, protoreflect.ValueOfMessage(hidden.ProtoReflect()))
	default:
		message.Clear(field)
	}
}
