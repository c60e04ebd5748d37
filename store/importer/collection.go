package importer

import (
	"reflect"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// collection has the objects of the input, and the objects that import itself adds.
type collection struct {
	*report
	all   []*item
	byKey map[manifest.Key]*item
}

// read adds the objects of one document of the input. The import is blocked if the document is not a valid
// object, or if a different object with the same kind, namespace and name is in the collection already.
func (c *collection) read(in Input) {
	at := in.at("")
	objects, ok := objectsOf(in)
	if !ok {
		c.block(at, "", "the document is no object of a cluster", "export it again with kubectl get -o yaml, or remove the document")
		return
	}
	for _, object := range objects {
		switch same := c.find(object.key); {
		case object.key.Kind == "" || !plainName(object.key.Name) || object.key.Namespace != "" && !plainName(object.key.Namespace):
			c.block(at, "", "an object has no kind, or no name that an object can have", "export it again with kubectl get -o yaml, or remove the object")
		case same != nil && !reflect.DeepEqual(same.fields, object.fields):
			c.block(at, object.name(), "the object is there twice, and differs", "remove one of the two")
		case same == nil:
			c.append(object)
			c.renamed(object)
		}
	}
}

// renamed adds a verdict about an object that was an XListenerSet, or has references to XListenerSets.
func (c *collection) renamed(object *item) {
	var fields []string
	for _, path := range object.renamed {
		group := "apiVersion"
		if above, isReference := strings.CutSuffix(path, ".kind"); isReference {
			group = above + ".group"
		}
		fields = append(fields, path, group)
	}
	if len(fields) > 0 {
		c.add(Different, object.place, object.name(), "XListenerSet, the older name of ListenerSet, is read as ListenerSet", fields...)
	}
}

// find returns the object with a key. It returns nil if there is none.
func (c *collection) find(key manifest.Key) *item {
	return c.byKey[key]
}

// append adds an object.
func (c *collection) append(object *item) {
	c.all = append(c.all, object)
	if c.byKey[object.key] == nil {
		c.byKey[object.key] = object
	}
}

// put adds an object that is not in the input, and returns it. If the collection already has an object with this key, the import
// is blocked.
func (c *collection) put(key manifest.Key, apiVersion string, spec map[string]any) *item {
	metadata := map[string]any{"name": key.Name}
	if key.Namespace != "" {
		metadata["namespace"] = key.Namespace
	}
	if same := c.find(key); same != nil {
		c.block(same.place, same.name(), "import writes an object of the same name", "rename it in the input")
	}
	added := &item{key: key, fields: map[string]any{"apiVersion": apiVersion, "kind": key.Kind, "metadata": metadata, "spec": spec}}
	c.append(added)
	return added
}
