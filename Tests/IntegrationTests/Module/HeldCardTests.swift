import Foundation
import TestSupport
import Testing
import VirtualCard

/// The module while its card is in use.
@Suite struct HeldCardTests {
    @Test func whatIsKnownIsToldAndALoginEndsWhileAnotherProgramHoldsTheCardOrSomebodyIsToTouchIt() throws {
        let folder = try TemporaryFolder()
        var builder = VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256)
        builder.keys[.authentication]?.touchPolicy = .always
        let card = try builder.build()
        let holder = try DaemonWithCard(card)
        let program = try ModuleProgram.compile("held", ["-I/usr/include/PCSC", "-lpcsclite"], in: folder)
        let log = folder.path("log")
        let result = try ModuleProgram.run(
            program, in: folder, service: holder.daemon.socketPath, ["TOKENKIT_DEBUG": log]
        ) {
            wish in
            guard wish == "await" else { return card.touch() }
            #expect(eventually { card.awaitsTouch })
        }
        #expect(result.status == 0, "\(result)")
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        let reasons = lines.filter { $0.contains("the card was not locked, which is done as soon as the card is free") }
        #expect(reasons.count == 5)
        #expect(reasons.allSatisfy { $0.contains("another program holds the card") })
    }
}
