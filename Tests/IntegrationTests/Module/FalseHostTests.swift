import Foundation
import TestSupport
import Testing

/// The module with a host that lies: it writes only to the buffers that it was given, and no call hangs.
@Suite struct FalseHostTests {
    /// Each letter is a way to lie, see `falsehost.c`. The last ways take the time until the module gives up a host.
    @Test(arguments: ["hgiklvbacmd", "snwzy"]) func liesAreDeviceErrorsAndNoMore(ways: String) throws {
        let folder = try TemporaryFolder()
        let module = folder.path("module.so")
        try FileManager.default.copyItem(atPath: ModuleProgram.module, toPath: module)
        let host = try ModuleProgram.compile("falsehost", in: folder)
        try FileManager.default.moveItem(atPath: host, toPath: folder.path("tokenkitd"))
        let program = try ModuleProgram.compile("deceived", ["-fsanitize=address", "-g"], in: folder)
        var environment = ModuleProgram.environment(in: folder)
        // Any existing path makes the module start a host.
        environment["PCSCLITE_CSOCK_NAME"] = folder.path
        let rounds = ways.contains("s") ? "1" : "20"
        let result = try Program.run([program, module, ways, rounds], environment: environment)
        #expect(result.status == 0, "\(result)")
    }

    /// `make fuzz` finds further inputs.
    @Test func answersOfAnyBytesEndNoProgram() throws {
        let folder = try TemporaryFolder()
        let seeds = Program.packageRoot.appending(path: "Tests/Fuzz/Seeds/falseHost")
        let files = try FileManager.default.contentsOfDirectory(at: seeds, includingPropertiesForKeys: nil).map(\.path)
        try #require(!files.isEmpty)
        let program = try ModuleProgram.compile(
            "falsehost", of: "Fuzz/Module", ["-DSTANDALONE", "-fsanitize=address", "-g"], in: folder)
        let result = try Program.run(
            [program, ModuleProgram.module] + files.sorted(), environment: ModuleProgram.environment(in: folder))
        #expect(result.status == 0, "\(result)")
    }
}
