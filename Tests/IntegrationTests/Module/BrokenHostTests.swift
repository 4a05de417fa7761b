import Foundation
import TestSupport
import Testing
import VirtualCard

/// The module with a host that starts and ends at once, as one whose library is missing.
@Suite struct BrokenHostTests {
    private let folder: TemporaryFolder
    private let module: String
    private let host: String

    init() throws {
        folder = try TemporaryFolder()
        module = folder.path("module.so")
        host = folder.path("tokenkitd")
        try ModuleProgram.copy(to: module)
    }

    @Test func itIsNoSlotAndIsNotStartedByEveryCall() throws {
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .generic, fourKeys: .p256).build())
        let program = try ModuleProgram.compile("brokenhost", in: folder)
        var environment = ModuleProgram.environment(in: folder)
        environment["PCSCLITE_CSOCK_NAME"] = holder.daemon.socketPath
        environment["TOKENKIT_DEBUG"] = folder.path("log")
        let words = [program, module, host, Program.host].map { "'\($0)'" }.joined(separator: " ")
        let result = try Program.run(["sh", "-c", "cd '\(folder.path)' && exec \(words)"], environment: environment)
        #expect(result.status == 0, "\(result)")
        let log = try String(contentsOfFile: folder.path("log"), encoding: .utf8)
        #expect(log.contains("C_GetSlotList CKR_OK: a host was started, and has ended or does not answer"))
    }

    /// p11-kit's proxy, with which programs see all modules, begins only where each module lists its slots.
    @Test func theModulesOfOthersAreSeen() throws {
        try FileManager.default.removeItem(atPath: host)
        try Data("#!/bin/sh\nexit 127\n".utf8).write(to: URL(filePath: host))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: host)
        var environment = ModuleProgram.environment(in: folder)
        // Any existing path makes the module start a host.
        environment["PCSCLITE_CSOCK_NAME"] = folder.path
        let tool = ["pkcs11-tool", "--module", PKCS11Module.p11KitProxy.path, "--list-slots"]
        // Both are known afterwards.
        _ = P11KitSettings.command(tool, knowing: "trust", "module: p11-kit-trust.so", in: folder.path)
        let command = P11KitSettings.command(tool, knowing: "tokenkit", "module: \(module)", in: folder.path)
        let result = try Program.run(command, environment: environment)
        #expect(result.status == 0 && result.text.contains("System Trust"), "\(result)")
    }
}
