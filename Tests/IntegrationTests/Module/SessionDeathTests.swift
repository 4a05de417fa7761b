import Foundation
import Synchronization
import TestSupport
import Testing
import VirtualCard

/// The session's host is killed at any moment, while commands write and sign through it.
@Suite struct SessionDeathTests {
    private static let rounds = 60
    /// The number of deaths that there have to be. `make endure` wants more.
    private static let deaths = Endurance.number("TOKENKIT_DEATHS") ?? 10

    @Test func whatWasAcknowledgedIsThereAndNoTryIsLost() throws {
        let folder = try TemporaryFolder()
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256).build())
        let environment = ModuleProgram.environment(in: folder).merging([
            "PCSCLITE_CSOCK_NAME": holder.daemon.socketPath, "TOKENKIT_HOST": "session", "TOKENKIT_MODULES": "",
        ]) { $1 }
        try ModuleProgram.createKeychain(in: folder, environment)
        let pin = try folder.write("pin", "123456\n")
        for file in [pin, try folder.write("answers", "")] {
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        }
        let host = SessionHost(in: folder, environment)
        defer { host.stop() }

        let isOver = Atomic(false)
        let kills = Atomic(0)
        let killing = DispatchGroup()
        Thread.detached(in: killing) {
            while !isOver.load(ordering: .relaxed) {
                for process in host.sessionHosts where kill(process, SIGKILL) == 0 {
                    kills.add(1, ordering: .relaxed)
                }
                Thread.sleep(forTimeInterval: .random(in: 0...0.3))
            }
        }
        var acknowledged: Set<String> = []
        var signatures = 0
        var refusals: Set<String> = []
        var round = 0
        // On a busy machine a program can take longer than the host lives, several times on end.
        while round < Self.rounds || kills.load(ordering: .relaxed) <= Self.deaths
            || (acknowledged.isEmpty || signatures == 0) && round < 50 * Self.rounds
        {
            round += 1
            try folder.write("answers", "open\nsecret \(round)\n")
            let added = try Program.run(
                [
                    Program.command, "add-generic-password", "-s", "mail", "-a", "\(round)", "--pin-source",
                    "file:" + folder.path("answers"),
                ], environment: environment)
            #expect(added.status >= 0, "no signal ends it: \(added)")
            if added.status == 0 { acknowledged.insert("\(round)") } else { refusals.insert("\(added)") }
            let signed = try Program.run(
                [
                    Program.command, "sign", "-k", "9A", "--pin-source", "file:" + pin, "-o", folder.path("signature"),
                    pin,
                ],
                environment: environment)
            #expect(signed.status >= 0, "no signal ends it: \(signed)")
            if signed.status == 0 { signatures += 1 } else { refusals.insert("\(signed)") }
        }
        isOver.store(true, ordering: .relaxed)
        killing.wait()
        #expect(kills.load(ordering: .relaxed) > Self.deaths)
        #expect(!acknowledged.isEmpty, "\(refusals)")
        #expect(signatures > 0, "\(refusals)")

        let keychain = try #require(
            try FileManager.default.subpathsOfDirectory(atPath: folder.path).first { $0.hasSuffix(".keychain") })
        let check = try Program.run(["sqlite3", folder.path(keychain), "PRAGMA integrity_check"])
        #expect(check.text == "ok\n")
        let shell =
            #"p=$1 n=$2; shift 2; "$n" unlock-keychain --pin-source "$p"; for a; do "$n" find-generic-password -s mail -a "$a" -w; done"#
        let found = try Program.run(
            ["sh", "-c", shell, "sh", "file:" + folder.path("password"), Program.command] + acknowledged.sorted(),
            environment: environment)
        #expect(found.text == acknowledged.sorted().map { "secret \($0)\n" }.joined(), "\(found)")
        let card = holder.card
        card.reset()
        _ = card.process([0x00, 0xA4, 0x04, 0x00, 0x05, 0xA0, 0x00, 0x00, 0x03, 0x08])
        #expect(card.process([0x00, 0x20, 0x00, 0x80]) == [0x63, 0xC3], "no try is lost")
    }
}
