package xds

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Functions that encode messages, and that put encoded messages into others.

// perEntryOverhead is enough space, in bytes, for the tag and the length of an embedded message.
const perEntryOverhead = 8

// appendRepeated appends encoded messages as elements of a repeated field.
func appendRepeated(body []byte, field protowire.Number, elements [][]byte) []byte {
	size := len(body)
	for _, element := range elements {
		size += len(element) + perEntryOverhead
	}
	grown := append(make([]byte, 0, size), body...)
	for _, element := range elements {
		grown = append(appendHeader(grown, field, len(element)), element...)
	}
	return grown
}

// appendHeader appends to body what precedes an embedded message: the tag of its field, and its size in bytes.
func appendHeader(body []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(body, field, protowire.BytesType), uint64(size))
}

// marshal encodes a message. Equal messages have equal bytes. It panics if the message cannot be encoded, which
// is a bug: checker.text rejects text that cannot be encoded.
func marshal(message proto.Message) []byte {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		panic(fmt.Sprintf("xds: encode %T: %v", message, err))
	}
	return body
}

// pack returns a message in an Any.
func pack(message proto.Message) *anypb.Any {
	return &anypb.Any{
		TypeUrl: "type.googleapis.com/" + string(message.ProtoReflect().Descriptor().FullName()),
		Value:   marshal(message),
	}
}

// wrap returns an encoded message (the parameter body) as an encoded field of another message.
func wrap(field protowire.Number, body []byte) []byte {
	out := make([]byte, 0, len(body)+perEntryOverhead)
	return append(appendHeader(out, field, len(body)), body...)
}

// text returns a text as an encoded field.
func text(field protowire.Number, value string) []byte { return wrap(field, []byte(value)) }
