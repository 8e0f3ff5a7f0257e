// The named arguments of Kotlin are those of Java's requests.
import kokoro.bundle.Bundle
import kokoro.bundle.Listener
import kokoro.bundle.Request
import kokoro.bundle.live
import kokoro.bundle.request
import kokoro.bundle.stream
import kokoro.bundle.synthesize

fun main(arguments: Array<String>) {
    Bundle.load(arguments[0]).use { bundle ->
        val text = "One sentence is here. Another one follows it."
        val java = bundle.synthesize(Request.text(text).voice("am_adam").speed(1.3).seed(3).trim(true).endPause(0.1))
        val kotlin = request(text, voice = "am_adam", speed = 1.3, seed = 3, trim = true, endPause = 0.1)
        check(bundle.synthesize(kotlin).samples.contentEquals(java.samples))
        check(bundle.synthesize(request(phonemes = "abc")).phonemes == "abc")
        val whole = bundle.synthesize(text, voice = "am_adam")
        check(whole.words.joinToString("") { it.text } == text.filterNot { it == ' ' })
        val taken = bundle.stream(text, voice = "am_adam").use { pieces -> pieces.asSequence().toList() }
        var count = 0
        check(bundle.stream(request(text, voice = "am_adam"), Listener { count += it.samples.size; true }))
        check(taken.size > 1 && taken.sumOf { it.samples.size } == count)
        bundle.live(voice = "am_adam").use { live ->
            live.push(text)
            live.end()
            check(live.pieces().sumOf { it.samples.size } == count)
        }
    }
    println("passed")
}
