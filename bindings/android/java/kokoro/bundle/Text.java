package kokoro.bundle;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Strings as kokoro.h has them. JNI's own UTF-8 is another one. */
final class Text {
    private Text() {}

    /**
     * Returns a string in UTF-8; null for null.
     *
     * @param what what it is, for the message
     * @throws KokoroException it has the character U+0000, which would end the string of C, or half of a surrogate pair
     */
    static byte[] encoded(String what, String text) {
        if (text == null) return null;
        if (text.indexOf('\0') >= 0) {
            String message = "The " + what + " must not contain the character U+0000: take it out.";
            throw new KokoroException(ErrorCode.ARGUMENT_TYPE_ERROR, message);
        }
        try {
            // A new encoder refuses what String.getBytes replaces.
            ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            return Arrays.copyOf(bytes.array(), bytes.limit());
        } catch (CharacterCodingException error) {
            String message = "The " + what + " has half of a surrogate pair, which UTF-8 does not have: take it out.";
            throw new KokoroException(ErrorCode.TEXT_ENCODING_ERROR, message);
        }
    }

    /** Returns the string of a part of an array. */
    static String decoded(byte[] bytes, int from, int end) {
        return new String(bytes, from, end - from, StandardCharsets.UTF_8);
    }

    /** Returns the string of an array. */
    static String decoded(byte[] bytes) {
        return decoded(bytes, 0, bytes.length);
    }
}
