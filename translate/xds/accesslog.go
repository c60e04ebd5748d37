package xds

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatefold/gatefold/translate/ir"
)

// accessLogFields are the members of a line of the access log. The path has no
// query: tokens are passed there.
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

// textLog is a line of the access log for people.
const textLog = "%START_TIME% %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% %REQ(:METHOD)% %REQ(:AUTHORITY)%%PATH(NQ:ORIG_OR_PATH)% " +
	"%RESPONSE_CODE% %RESPONSE_FLAGS% %DURATION%ms %ROUTE_NAME% %UPSTREAM_CLUSTER_RAW%\n"

func accessLogs(form ir.AccessLog) []*accesslogv3.AccessLog {
	return logs(form, accessLogFields, textLog)
}

// streamLogFields are the members of a line for a connection, when it ends, or for a
// session of datagrams of a route.
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

// textStreamLog is the same for people.
const textStreamLog = "%START_TIME% %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% %REQUESTED_SERVER_NAME% %RESPONSE_FLAGS% %DURATION%ms " +
	"%BYTES_RECEIVED% %BYTES_SENT% "

// streamLogs returns access logs with a line for each connection, with the name of the route.
func streamLogs(form ir.AccessLog, stream *ir.Stream) []*accesslogv3.AccessLog {
	route := "-"
	if stream.Route != nil {
		route = stream.Route.Name()
	}
	return logs(form, streamLogFields(route), textStreamLog+route+" %UPSTREAM_CLUSTER_RAW%\n")
}

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

func stdout(format *corev3.SubstitutionFormatString) *accesslogv3.AccessLog {
	return &accesslogv3.AccessLog{
		Name: "envoy.access_loggers.stdout",
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: pack(&streamv3.StdoutAccessLog{
			AccessLogFormat: &streamv3.StdoutAccessLog_LogFormat{LogFormat: format},
		})},
	}
}
