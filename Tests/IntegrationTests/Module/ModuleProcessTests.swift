import Foundation
import TestSupport
import Testing
import VirtualCard

/// The module in programs that change their process: they fork, close descriptors, take signals and give up rights.
@Suite struct ModuleProcessTests {
    /// Runs a program with a card in its reader.
    private func run(_ name: String, _ arguments: String...) throws {
        let folder = try TemporaryFolder()
        // Users without rights have to reach the files.
        try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: folder.path)
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .generic, fourKeys: .p256).build())
        let program = try ModuleProgram.compile(name, in: folder)
        let relay = try CardServiceRelay(to: holder.daemon.socketPath, in: folder)
        let result = try ModuleProgram.run(program, arguments, in: folder, service: relay.path)
        withExtendedLifetime(relay) {}
        #expect(result.status == 0, "\(result)")
    }

    @Test func aThousandChildrenOfTwoThreadsLiveByAnyWayAndTheParentGoesOn() throws { try run("forks") }

    @Test func aProgramThatReplacesItselfAmidCallsLeavesNothingAndBeginsAnew() throws { try run("exec") }

    @Test func aChildWithItsParentsProcessIDIsAnotherProcess() throws { try run("namespaces") }

    @Test func descriptorsThatAreClosedOrReusedAreNeitherWrittenToNorClosed() throws { try run("descriptors") }

    @Test(arguments: ["functions", "folder", "environment", "descriptors", "finalize", "namespace"])
    func whatSurroundsTheModuleIsTheProgramsAndChangesAtAnyTime(way: String) throws { try run("surroundings", way) }

    @Test(arguments: [
        "children", "interrupted", "hanging", "blocked", "broken", "terminal", "files", "calls", "threads", "cancelled",
        "staying",
    ])
    func signalsChildrenAndRightsStayTheProgramsOwn(way: String) throws { try run("signals", way) }
}
