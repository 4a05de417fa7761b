import Foundation
import TestSupport
import Testing

/// Secret keys through the module as programs load it, without a card. `secrets.c` has the steps.
@Suite struct SecretKeyModuleTests {
    @Test func aProgramMakesKeysAndUsesThem() throws {
        let folder = try TemporaryFolder()
        let program = try ModuleProgram.compile("secrets", in: folder)
        try ModuleProgram.createKeychain(in: folder, ModuleProgram.environment(in: folder))
        let result = try ModuleProgram.run(program, in: folder, service: folder.path("no-service"))
        #expect(result.status == 0, "\(result)")
    }
}
