import Foundation
import Synchronization
import TestSupport
import Testing
import VirtualCard

/// Many programs at the session's host at a time.
@Suite struct SessionCrowdTests {
    private static let programs = 64
    /// The time for which they sign. `make endure` wants more.
    private static let seconds = Endurance.number("TOKENKIT_CROWD_SECONDS") ?? 15

    private static func card(serialNumber: UInt32) throws -> VirtualCard {
        var builder = VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256)
        builder.serialNumber = serialNumber
        return try builder.build()
    }

    @Test func sixtyFourProgramsSignWithTwoCardsAndAKeychainWhileTheCardsArePulled() throws {
        let folder = try TemporaryFolder()
        let holder = try DaemonWithCard(try Self.card(serialNumber: 1))
        let second = try VPCDLink(
            card: try Self.card(serialNumber: 2), connecting: { try? holder.daemon.connectCard(reader: 1) })
        let served = DispatchGroup()
        Thread.detached(in: served) { try? second.run() }
        defer {
            second.stop()
            served.wait()
        }
        second.insert()

        let environment = ModuleProgram.environment(in: folder).merging([
            "PCSCLITE_CSOCK_NAME": holder.daemon.socketPath, "TOKENKIT_HOST": "session", "TOKENKIT_MODULES": "",
        ]) { $1 }
        try ModuleProgram.createKeychain(in: folder, environment, password: "123456")
        let password = ["--pin-source", "file:" + folder.path("password")]
        let made = try Program.run(
            [Program.command, "create-keypair", "-a", "ec", "-s", "256"] + password + ["key"], environment: environment)
        try #require(made.status == 0, "\(made)")
        let host = SessionHost(in: folder, environment)
        defer { host.stop() }

        let isOver = Atomic(false)
        let pulls = DispatchGroup()
        let program = try ModuleProgram.compile(
            "crowd", ["-Wno-deprecated-declarations", "-lcrypto"], in: folder)
        let slots = ["Virtual PCD 00 00", "Virtual PCD 00 01", "Keychain login"]
        let result = try ModuleProgram.run(
            program, ["\(Self.programs)", "\(Self.seconds)", "123456"] + slots, in: folder,
            service: holder.daemon.socketPath, environment, timeout: 300
        ) { _ in
            Thread.detached(in: pulls) {
                var turn = 0
                while !isOver.load(ordering: .relaxed) {
                    let link = turn % 2 == 0 ? holder.link : second
                    Thread.sleep(forTimeInterval: 1)
                    link.remove()
                    Thread.sleep(forTimeInterval: 0.5)
                    link.insert()
                    turn += 1
                }
            }
        }
        isOver.store(true, ordering: .relaxed)
        pulls.wait()
        #expect(result.status == 0, "\(result)")
        #expect(host.privateHosts == 0)
        for card in [holder.card, second.card] {
            card.reset()
            _ = card.process([0x00, 0xA4, 0x04, 0x00, 0x05, 0xA0, 0x00, 0x00, 0x03, 0x08])
            #expect(card.process([0x00, 0x20, 0x00, 0x80]) == [0x63, 0xC3], "no try is lost")
        }
    }
}
