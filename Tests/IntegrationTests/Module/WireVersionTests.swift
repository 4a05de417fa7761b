import TestSupport
import Testing
import VirtualCard

/// A module and a host that are not of one version, as while an installation is replaced.
@Suite struct WireVersionTests {
    @Test func theHostServesItsOwnVersionAndTheModuleHasAHostOfThat() throws {
        let folder = try TemporaryFolder()
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .generic, fourKeys: .p256).build())
        let environment = ModuleProgram.environment(in: folder).merging(holder.daemon.environment) { $1 }
        let host = SessionHost(in: folder, environment)
        try host.start()
        defer { host.stop() }
        let program = try ModuleProgram.compile("versions", in: folder)
        let result = try ModuleProgram.run(
            program, [Program.host, host.socket], in: folder, service: holder.daemon.socketPath
        ) { _ in host.stop() }
        #expect(result.status == 0, "\(result)")
    }
}
