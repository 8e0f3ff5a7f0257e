// Speaks text into a WAV file, piece by piece. The program finds the library where it is now:
//
//	CGO_CFLAGS=-IBUNDLE/native CGO_LDFLAGS="-LBUNDLE/native -lkokoro -Wl,-rpath,BUNDLE/native" go build speak.go
//	./speak BUNDLE "Hello, world!" hello.wav
package main

/*
#include "kokoro.h"
int writePiece(kokoro_audio *piece, void *user);
*/
import "C"
import (
	"encoding/binary"
	"fmt"
	"log"
	"math"
	"os"
	"runtime"
	"unsafe"
)

var file *os.File

//export writePiece
func writePiece(piece *C.kokoro_audio, _ unsafe.Pointer) C.int {
	samples := make([]int16, piece.sample_count)
	for index, sample := range unsafe.Slice((*float32)(piece.samples), piece.sample_count) {
		samples[index] = int16(math.RoundToEven(float64(max(-1, min(1, sample)) * 32767)))
	}
	fmt.Printf("from %.2f s on: %s\n", float64(piece.start), C.GoString(piece.phonemes))
	check(binary.Write(file, binary.LittleEndian, samples) == nil, "The file could not be written.")
	return 0
}

func check(done bool, message string) {
	if !done {
		log.Fatal(message)
	}
}

func main() {
	runtime.LockOSThread() // The message of an error belongs to its thread.
	var bundle *C.kokoro_bundle
	check(C.kokoro_load(C.CString(os.Args[1]), nil, &bundle) == 0, C.GoString(C.kokoro_last_error()))
	request := C.kokoro_request{size: C.sizeof_kokoro_request, text: C.CString(os.Args[2])}
	check(C.kokoro_check(bundle, &request) == 0, C.GoString(C.kokoro_last_error()))
	var err error
	file, err = os.Create(os.Args[3])
	check(err == nil, "The file could not be created.")
	file.Seek(44, 0)
	callback := C.kokoro_callback(unsafe.Pointer(C.writePiece))
	check(C.kokoro_stream(bundle, &request, callback, nil) == 0, C.GoString(C.kokoro_last_error()))
	C.kokoro_free(bundle)
	end, _ := file.Seek(0, 2)
	header := []byte("RIFF....WAVEfmt ....................data....")
	for at, value := range map[int]int64{4: end - 8, 16: 16, 20: 0x10001, 24: 24000, 28: 48000, 32: 0x100002, 40: end - 44} {
		binary.LittleEndian.PutUint32(header[at:], uint32(value))
	}
	_, err = file.WriteAt(header, 0)
	check(err == nil, "The file could not be written.")
}
