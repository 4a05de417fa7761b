import Foundation
import TestSupport
import Testing
import VirtualCard

/// The module while its host is killed, or hangs.
@Suite struct HostDeathTests {
    @Test(arguments: [["40"], ["starting", "40"]])
    func aHostThatIsKilledFailsTheCallsThatItHadBegunAndNoOthers(way: [String]) throws {
        let folder = try TemporaryFolder()
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .generic, fourKeys: .p256).build())
        let program = try ModuleProgram.compile("hostends", in: folder)
        let result = try ModuleProgram.run(program, way, in: folder, service: holder.daemon.socketPath)
        #expect(result.status == 0, "\(result)")
    }

    /// A way to strike a host, and how often. A stop takes the time until the module gives up a host, which passes faster in most.
    struct Blows: CustomTestStringConvertible {
        let way: String
        let times: Int
        var haste = 1

        var arguments: [String] { [way, "\(times)", "\(haste)"] }
        var testDescription: String { arguments.joined(separator: " ") }
    }

    private static let options = ["-rdynamic", "-Wno-deprecated-declarations", "-lcrypto"]

    @Test(arguments: [
        Blows(way: "kill", times: 500), Blows(way: "stop", times: 1), Blows(way: "stop", times: 20, haste: 10),
    ])
    func callsOfSixteenThreadsEndWithTheRightCodesAndNoTryIsLost(blows: Blows) throws {
        let folder = try TemporaryFolder()
        let card = try VirtualCardBuilder(profile: .generic, fourKeys: .p256).build()
        let holder = try DaemonWithCard(card)
        let program = try ModuleProgram.compile("hostdeath", Self.options, in: folder)
        let result = try ModuleProgram.run(program, blows.arguments, in: folder, service: holder.daemon.socketPath)
        #expect(result.status == 0, "\(result)")
        // VERIFY without a PIN returns the tries left.
        card.reset()
        _ = card.process([0x00, 0xA4, 0x04, 0x00, 0x05, 0xA0, 0x00, 0x00, 0x03, 0x08])
        #expect(card.process([0x00, 0x20, 0x00, 0x80]) == [0x63, 0xC3])
    }

    @Test(arguments: [
        Blows(way: "kill", times: 250), Blows(way: "stop", times: 12, haste: 10),
    ])
    func callsWithAKeychainEndWithTheRightCodesAndItsFileStaysWhole(blows: Blows) throws {
        let folder = try TemporaryFolder()
        let environment = ModuleProgram.environment(in: folder)
        try ModuleProgram.createKeychain(in: folder, environment, password: "123456")
        func succeed(_ words: [String]) throws -> ProgramResult {
            let result = try Program.run(words, environment: environment)
            try #require(result.status == 0, "\(result)")
            return result
        }
        let password = ["--pin-source", "file:" + folder.path("password")]
        _ = try succeed([Program.command, "create-keypair", "-a", "ec", "-s", "256"] + password + ["key"])
        let program = try ModuleProgram.compile("hostdeath", Self.options, in: folder)
        let result = try ModuleProgram.run(
            program, blows.arguments, in: folder, service: folder.path("none"),
            ["TOKENKIT_PKCS11_TOKENS": "keychains"])
        #expect(result.status == 0, "\(result)")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        let keychain = try #require(files.first { $0.hasSuffix(".keychain") })
        let check = try succeed(["sqlite3", folder.path(keychain), "PRAGMA integrity_check"])
        #expect(check.text == "ok\n")
        let signed = try succeed([Program.command, "sign", "-k", "key"] + password + [folder.path("password")])
        #expect(!signed.output.isEmpty)
    }
}
