// swift-tools-version: 5.9
// `python -m exporter.native.apple_package` puts Kokoro.xcframework beside this file.
import PackageDescription

let package = Package(
    name: "KokoroBundle",
    platforms: [.iOS(.v15), .macOS(.v13)],
    products: [.library(name: "KokoroBundle", targets: ["KokoroBundle"])],
    targets: [
        .binaryTarget(name: "Kokoro", path: "Kokoro.xcframework"),
        .target(name: "KokoroBundle", dependencies: ["Kokoro"]),
    ]
)
