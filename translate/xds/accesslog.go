package xds

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatefold/gatefold/translate/ir"
)

// accessLogFields are the members of a JSON line of the access log. The path has no query, because queries can
// contain tokens.
var accessLogFields = map[string]string{
	"time":             "%START_TIME%",
	"method":           "%REQ(:METHOD)%",
	"host":             "%REQ(:AUTHORITY)%",
	"path":             "%PATH(NQ:ORIG_OR_PATH)%",
	"protocol":         "%PROTOCOL%",
	"status":           "%RESPONSE_CODE%",
	"route":            "%ROUTE_NAME%",
	"duration_ms":      "%DURATION%",
	"bytes_received":   "%BYTES_RECEIVED%",
	"bytes_sent":       "%BYTES_SENT%",
	"client":           "%DOWNSTREAM_REMOTE_ADDRESS%",
	"upstream_host":    "%UPSTREAM_HOST%",
	"upstream_cluster": "%UPSTREAM_CLUSTER_RAW%",
	"attempts":         "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
	"flags":            "%RESPONSE_FLAGS%",
	"details":          "%RESPONSE_CODE_DETAILS%",
	"closed_by":        "%METADATA(ROUTE:" + metadataNamespace + ":" + metadataClosedBy + ")%",
	"request_id":       "%REQ(X-REQUEST-ID)%",
	"user_agent":       "%REQ(USER-AGENT)%",
}

// textLog is the format of a text line of the access log.
const textLog = "%START_TIME% %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% %REQ(:METHOD)% %REQ(:AUTHORITY)%%PATH(NQ:ORIG_OR_PATH)% " +
	"%RESPONSE_CODE% %RESPONSE_FLAGS% %DURATION%ms %ROUTE_NAME% %UPSTREAM_CLUSTER_RAW%\n"

// accessLogs returns the access log of HTTP requests. It returns nil if form is ir.LogOff.
func accessLogs(form ir.AccessLog) []*accesslogv3.AccessLog {
	return logs(form, accessLogFields, textLog)
}

// streamLogFields returns the members of a JSON line for a connection that has ended, or for a session of
// datagrams. The parameter route is the name of the route, or "-".
func streamLogFields(route string) map[string]string {
	return map[string]string{
		"route":            route,
		"time":             "%START_TIME%",
		"sni":              "%REQUESTED_SERVER_NAME%",
		"duration_ms":      "%DURATION%",
		"bytes_received":   "%BYTES_RECEIVED%",
		"bytes_sent":       "%BYTES_SENT%",
		"client":           "%DOWNSTREAM_REMOTE_ADDRESS%",
		"upstream_host":    "%UPSTREAM_HOST%",
		"upstream_cluster": "%UPSTREAM_CLUSTER_RAW%",
		"flags":            "%RESPONSE_FLAGS%",
		"details":          "%CONNECTION_TERMINATION_DETAILS%",
	}
}

// textStreamLog is the beginning of the format of a text line for a connection or session. The names of the route
// and the cluster follow (see streamLogs).
const textStreamLog = "%START_TIME% %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% %REQUESTED_SERVER_NAME% %RESPONSE_FLAGS% %DURATION%ms " +
	"%BYTES_RECEIVED% %BYTES_SENT% "

// streamLogs returns the access log with a line for each connection or session of an ir.Stream. The line has the
// name of the route, or "-" if the Stream has no route. streamLogs returns nil if form is ir.LogOff.
func streamLogs(form ir.AccessLog, stream *ir.Stream) []*accesslogv3.AccessLog {
	route := "-"
	if stream.Route != nil {
		route = stream.Route.Name()
	}
	return logs(form, streamLogFields(route), textStreamLog+route+" %UPSTREAM_CLUSTER_RAW%\n")
}

// logs returns an access log that writes to stdout. The parameter form decides how a line looks:
//   - ir.LogText: the parameter text is the format of the line.
//   - ir.LogJSON: the line is JSON, and each entry of the parameter commands becomes a member.
//   - ir.LogOff: logs returns nil.
func logs(form ir.AccessLog, commands map[string]string, text string) []*accesslogv3.AccessLog {
	switch form {
	case ir.LogOff:
		return nil
	case ir.LogText:
		line := &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
		return []*accesslogv3.AccessLog{stdout(&corev3.SubstitutionFormatString{
			Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: line},
		})}
	}
	fields := make(map[string]*structpb.Value, len(commands))
	for name, command := range commands {
		fields[name] = structpb.NewStringValue(command)
	}
	return []*accesslogv3.AccessLog{stdout(&corev3.SubstitutionFormatString{
		Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: &structpb.Struct{Fields: fields}},
	})}
}

// stdout returns an access log that writes lines to stdout. The parameter format is the format of a line.
func stdout(format *corev3.SubstitutionFormatString) *accesslogv3.AccessLog {
	return &accesslogv3.AccessLog{
		Name: "envoy.access_loggers.stdout",
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: pack(&streamv3.StdoutAccessLog{
			AccessLogFormat: &streamv3.StdoutAccessLog_LogFormat{LogFormat: format},
		})},
	}
}
