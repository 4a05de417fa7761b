import TestSupport
import Testing
import VirtualCard

/// The module while its card is in use.
@Suite struct HeldCardTests {
    @Test func whatIsKnownIsToldWhileAnotherProgramHoldsTheCardOrSomebodyIsToTouchIt() throws {
        let folder = try TemporaryFolder()
        var builder = VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256)
        builder.keys[.authentication]?.touchPolicy = .always
        let card = try builder.build()
        let holder = try DaemonWithCard(card)
        let program = try ModuleProgram.compile("held", ["-I/usr/include/PCSC", "-lpcsclite"], in: folder)
        let result = try ModuleProgram.run(program, in: folder, service: holder.daemon.socketPath) { wish in
            guard wish == "await" else { return card.touch() }
            #expect(eventually { card.awaitsTouch })
        }
        #expect(result.status == 0, "\(result)")
    }
}
