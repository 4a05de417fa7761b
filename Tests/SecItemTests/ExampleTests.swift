import Foundation
import TestSupport
import Testing

/// The sample program, in its own home and with a person at the prompt.
@Suite struct ExampleTests {
    @Test func theSampleProgramDoesWhatItSays() throws {
        let folder = try TemporaryFolder()
        let pinentry = folder.path("pinentry")
        let script = """
            echo OK
            while read -r command _; do
                if [ "$command" = GETPIN ]; then echo "D correct horse"; fi
                echo OK
                if [ "$command" = BYE ]; then exit; fi
            done
            """
        try folder.writeProgram("pinentry", script)
        var environment = [
            "PINENTRY_PROGRAM": pinentry, "PCSCLITE_CSOCK_NAME": folder.path("none"), "TOKENKIT_MODULES": "",
        ]
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            environment[name] = folder.path
        }
        try PasswordCost.lower(in: folder.path)
        let created = try Program.run([Program.command, "create-keychain"], environment: environment)
        try #require(created.status == 0, "\(created)")
        let result = try Program.run([Program.products + "/SecItemExample"], environment: environment)
        #expect(result.status == 0, "\(result)")
        let lines = result.text.split(separator: "\n")
        #expect(lines.count >= 9)
        #expect(lines.allSatisfy { $0.hasPrefix("ok ") }, "\(result)")
    }
}
