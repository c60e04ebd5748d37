package api

// AnnotationOnError is for objects that answer an error where they have a mistake: routes, Gateways, ListenerSets,
// policies that protect, and GatewayExtensions. With OnErrorClose, an edit of the object takes effect although it has an
// error: it is served as a new object would be. Without it, the version before the edit is still served.
const AnnotationOnError = "gatefold.io/on-error"

// OnErrorClose is the only value of AnnotationOnError.
const OnErrorClose = "close"
