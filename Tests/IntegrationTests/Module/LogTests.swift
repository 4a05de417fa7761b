import Foundation
import SecureBytes
import TestSupport
import Testing
import VirtualCard

/// The log of `TOKENKIT_DEBUG`, for the search for a fault.
@Suite struct LogTests {
    /// The faults of a card.
    enum Cause: String, CaseIterable, Sendable {
        case wrong, blocked, untouched, gone, held

        /// The words of the log that identify this fault.
        var words: String {
            switch self {
            case .wrong: "C_Login CKR_PIN_INCORRECT: wrong PIN"
            case .blocked: "C_Login CKR_PIN_LOCKED: the PIN is blocked"
            case .untouched:
                "C_Sign CKR_FUNCTION_REJECTED: the PIV Authentication key waited for a touch that did not come"
            case .gone: "C_Sign CKR_DEVICE_REMOVED: no card is in the reader"
            case .held: "C_OpenSession CKR_DEVICE_ERROR: another program holds the card"
            }
        }

        func card() throws -> VirtualCard {
            var builder = VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256)
            // The wait for a touch ends at once.
            builder.clock = SimulatedClock()
            if self == .untouched { builder.keys[.authentication]?.touchPolicy = .always }
            let card = try builder.build()
            guard self == .blocked else { return card }
            _ = card.process([0x00, 0xA4, 0x04, 0x00, 0x05, 0xA0, 0x00, 0x00, 0x03, 0x08])
            for _ in 0..<3 { _ = card.process([0x00, 0x20, 0x00, 0x80, 0x08] + Array("111111".utf8) + [0xFF, 0xFF]) }
            return card
        }
    }

    @Test func standardErrorMayBeNamedByItsPathAndAPipeWithoutReaderHoldsNobody() throws {
        let folder = try TemporaryFolder()
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .generic, fourKeys: .p256).build())
        let program = try ModuleProgram.compile("surroundings", in: folder)
        try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
        for (path, isTold) in [("/dev/stderr", true), (folder.path("pipe"), false)] {
            let result = try ModuleProgram.run(
                program, ["functions"], in: folder, service: holder.daemon.socketPath, ["TOKENKIT_DEBUG": path])
            #expect(result.status == 0 && "\(result)".contains("tokenkit-pkcs11[") == isTold, "\(result)")
        }
    }

    @Test(arguments: Cause.allCases)
    func eachCauseHasWordsOfItsOwnAndNoneHoldsAPIN(cause: Cause) throws {
        let folder = try TemporaryFolder()
        let holder = try DaemonWithCard(cause.card())
        let program = try ModuleProgram.compile("reasons", ["-I/usr/include/PCSC", "-lpcsclite"], in: folder)
        let result = try ModuleProgram.run(
            program, [cause.rawValue], in: folder, service: holder.daemon.socketPath,
            ["TOKENKIT_DEBUG": folder.path("log")]
        ) { _ in
            holder.link.remove()
            try holder.waitForNoCard()
        }
        #expect(result.status == 0, "\(result)")
        let log = try String(contentsOfFile: folder.path("log"), encoding: .utf8)
        #expect(Cause.allCases.filter { log.contains($0.words) } == [cause], "\(log)")
        for pin in ["123456", "987654", Hex.encode(Array("123456".utf8)), Hex.encode(Array("987654".utf8))] {
            #expect(!log.contains(pin))
        }
        // Every call that failed has a reason.
        for line in log.split(separator: "\n") where !line.contains(" CKR_OK") {
            #expect(line.contains(/CKR_[A-Z_]+: [a-z]/), "\(line)")
        }
    }
}
