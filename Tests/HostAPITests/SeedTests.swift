import Foundation
import KeychainModel
import SecureBytes
import TestSupport
import Testing

@testable import HostAPI

/// The seeds of the fuzz targets for messages, which are sample messages. With TOKENKIT_WRITE_SEEDS they are written anew.
@Suite struct SeedTests {
    private static let folder = Program.packageRoot.appending(path: "Tests/Fuzz/Seeds")

    /// One message of each kind: the number of bytes of the secrets, the fields, and the secrets.
    private func samples() throws -> [String: [UInt8]] {
        var samples: [String: [UInt8]] = [:]
        func add(_ folder: String, _ value: some Any, _ message: MessageWriter) {
            let kind = "\(value)".prefix { $0.isLetter }
            let secrets = message.lane
            let lane = secrets.copied()
            guard lane.count < 256, samples["\(folder)/\(kind)"] == nil else { return }
            samples["\(folder)/\(kind)"] = [UInt8(lane.count)] + message.bytes + lane
        }
        for (index, request) in try MessageSamples.requests().enumerated() {
            let contexts = MessageSamples.contexts
            add("hostRequest", request, request.message(contexts[index % contexts.count]))
        }
        for answer in try MessageSamples.answers() { add("hostAnswer", answer, answer.message()) }
        for notice in MessageSamples.notices { add("hostNotice", notice, notice.message()) }
        samples["serviceHello/hello"] = ServiceHello(environment: [Array("LANG=C".utf8)]).encoded()
        samples["serviceHello/version1"] = ServiceHello(
            oldestVersion: 1, newestVersion: 1, environment: [Array("LANG=C".utf8)],
            abilities: MessageSamples.abilities[0]
        ).encoded()
        samples["serviceHello/options"] = ServiceHello(
            environment: [], options: MessageSamples.options[2]
        ).encoded()
        return samples
    }

    @Test func eachKindOfMessageHasASeedOfItsPresentForm() throws {
        let samples = try samples()
        if ProcessInfo.processInfo.environment["TOKENKIT_WRITE_SEEDS"] != nil {
            for (name, bytes) in samples { try Data(bytes).write(to: SeedTests.folder.appending(path: name)) }
        }
        #expect(samples.count > 30)
        for (name, bytes) in samples {
            #expect(try Data(contentsOf: SeedTests.folder.appending(path: name)) == Data(bytes), "\(name)")
        }
    }
}
