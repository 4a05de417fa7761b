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

    /// Each stop takes the time until a host is given up, and has a card of its own: a host that is stopped may hold it.
    @Test(arguments: [("kill", 500, 1), ("stop", 1, 1), ("stop", 1, 2), ("stop", 1, 3), ("stop", 1, 4)])
    func callsOfSixteenThreadsEndWithTheRightCodesAndNoTryIsLost(way: String, times: Int, number: Int) throws {
        let folder = try TemporaryFolder()
        let card = try VirtualCardBuilder(profile: .generic, fourKeys: .p256).build()
        let holder = try DaemonWithCard(card)
        let program = try ModuleProgram.compile(
            "hostdeath", ["-Wno-deprecated-declarations", "-lcrypto"], in: folder)
        let result = try ModuleProgram.run(program, [way, "\(times)"], in: folder, service: holder.daemon.socketPath)
        #expect(result.status == 0, "\(result)")
        // VERIFY without a PIN tells how often it may be tried.
        card.reset()
        _ = card.process([0x00, 0xA4, 0x04, 0x00, 0x05, 0xA0, 0x00, 0x00, 0x03, 0x08])
        #expect(card.process([0x00, 0x20, 0x00, 0x80]) == [0x63, 0xC3])
    }
}
