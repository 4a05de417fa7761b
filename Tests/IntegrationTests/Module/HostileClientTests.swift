import TestSupport
import Testing
import VirtualCard

/// The installed host, with clients that lie.
@Suite struct HostileClientTests {
    @Test(arguments: ["garbage", "calls", "promises", "settings", "descriptors", "gone"])
    func theHostServesHonestRequestsAndEndsByItself(way: String) throws {
        let folder = try TemporaryFolder()
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .generic, fourKeys: .p256).build())
        let program = try ModuleProgram.compile("hostileclient", in: folder)
        var environment = ModuleProgram.environment(in: folder)
        environment["PCSCLITE_CSOCK_NAME"] = holder.daemon.socketPath
        let result = try Program.run([program, Program.host, way], environment: environment)
        #expect(result.status == 0, "\(result)")
    }
}
