package importer

import (
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// Options configure an import.
type Options struct {
	// Accept lists objects (KIND/NAMESPACE/NAME), kinds (KIND.GROUP), fields (KIND/NAMESPACE/NAME/FIELD), and
	// annotations by their name. The user has checked that they do not protect anything. The import leaves them
	// out, and makes nothing fail closed because of them.
	Accept []string
	// Replace are the Services (NAMESPACE/NAME) that are replaced by Backends with the given address.
	Replace map[string]Address
	// EntryPoints are the ports of Traefik's entry points, by name. Unless the map has other ports for them, web
	// and http have the port 80, and websecure and https have the port 443.
	EntryPoints map[string]int
	// IngressClasses are the classes of Ingresses that are imported. If it is empty, the class is nginx.
	IngressClasses []string
	// Secrets is true if files for Secrets may be written.
	Secrets bool
}

// Address is the address of a Backend.
type Address struct {
	Host string // an IP address or a DNS name
	Port int
}

// Objects has the imported objects before they become files. After the import, repeat two steps: validate the
// files that Manifests returns, and pass the problems to Settle, which makes objects with errors fail closed or
// leaves them out. Repeat until Settle returns false, because each change can cause new problems. Then call
// Result.
type Objects struct {
	*report
	options      Options
	objects      *collection
	accept       *acceptance
	closing      *closing
	classifier   *classifier
	surroundings *surroundings
}

// newObjects returns the objects of the input, without the fields that options.Accept names. It returns an
// error only if the schemas cannot be loaded.
func newObjects(inputs []Input, options Options) (*Objects, error) {
	schemas, err := schema.Load()
	if err != nil {
		return nil, err
	}
	r := &report{}
	o := &Objects{report: r, options: options}
	o.objects = &collection{report: r, byKey: map[manifest.Key]*item{}}
	o.accept = &acceptance{report: r, entries: options.Accept, used: map[string]bool{}}
	o.closing = &closing{report: r, objects: o.objects}
	o.classifier = &classifier{report: r, objects: o.objects, accept: o.accept, closing: o.closing, schemas: schemas}
	o.surroundings = &surroundings{report: r, objects: o.objects, accept: o.accept, closing: o.closing}
	for _, in := range inputs {
		o.objects.read(in)
	}
	o.accept.leaveFields(o.objects.all)
	return o, nil
}

// finish does the last steps of every import. First it leaves out objects of kinds that gatefold does not serve, such
// as policies. Then it replaces Services, and last it leaves out unused objects. The order matters: if a policy for a
// Service is left out, the Service may have to fail closed, which must be known before the Service is replaced.
func (o *Objects) finish() {
	for _, object := range o.objects.all {
		o.classifier.unservedPolicy(object)
	}
	replaceServices(o.report, o.objects, o.options.Replace)
	leaveUnused(o.report, o.objects.all, o.options.Replace)
}
