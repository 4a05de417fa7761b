import Foundation
import Platform
import TestSupport
import Testing

/// Programs that are started with nothing but what they are given.
@Suite struct ChildProgramTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The output of a shell script in this environment.
    private func run(_ script: String, _ environment: [String]) throws -> String {
        let output = folder.path("output")
        let file = open(output, O_CREAT | O_WRONLY, 0o600)
        defer { close(file) }
        let program = ChildProgram(
            path: "/bin/sh", arguments: ["sh", "-c", script], environment: environment,
            streams: [.nothing, .descriptor(file), .nothing])
        let process = try program.start()
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1, errno == EINTR {}
        #expect(status == 0)
        return try String(contentsOfFile: output, encoding: .utf8)
    }

    @Test func itHasTheDescriptorsThatItIsGivenAndNoOther() throws {
        let secret = folder.path("secret")
        try folder.write("secret", Array("123456\n".utf8))
        let inherited = open(secret, O_RDONLY)
        defer { close(inherited) }
        #expect(fcntl(inherited, F_GETFD) == 0, "it would be inherited")
        let seen = try run("exec ls -l /proc/self/fd", ["PATH=/usr/bin:/bin"])
        #expect(seen.contains("output") && !seen.contains("secret"), "\(seen)")
    }

    @Test func itsEnvironmentIsTheOneThatWasBuilt() throws {
        #expect(try run("exec env", ["A=1", "PATH=/usr/bin:/bin"]).split(separator: "\n").contains("A=1"))
        #expect(try !run("exec env", ["PATH=/usr/bin:/bin"]).contains("HOME="))
    }

    @Test func aProgramThatIsNotThereIsAnErrorWithItsNumber() throws {
        let program = ChildProgram(path: "/nonexistent", arguments: ["x"], environment: [], streams: [])
        let error = #expect(throws: SystemError.self) { try program.start() }
        #expect(error?.number == ENOENT)
    }

    @Test func programsAreFoundByAbsolutePathsAlone() throws {
        #expect(Environment.program("sh")?.hasPrefix("/") == true)
        #expect(Environment.program("./sh") == nil && Environment.program("bin/sh") == nil)
        #expect(Environment.program("/bin/sh") == "/bin/sh")
        #expect(Environment.program("no-such-program") == nil && Environment.program("") == nil)
        #expect(Environment.program(folder.path) == nil, "a folder is no program")
        try folder.write("text", [1])
        #expect(Environment.program(folder.path("text")) == nil, "nor is what may not be run")
    }

    @Test func aVariableWithASecretIsWithheld() {
        #expect(Environment.all.contains { $0.hasPrefix("PATH=") })
        setenv("TOKENKIT_TEST_OF_WITHHOLDING", "123456", 1)
        #expect(Environment.all.contains("TOKENKIT_TEST_OF_WITHHOLDING=123456"))
        Environment.withhold("TOKENKIT_TEST_OF_WITHHOLDING")
        #expect(!Environment.all.contains { $0.contains("TOKENKIT_TEST_OF_WITHHOLDING") })
        #expect(Environment.ofPerson["PATH"] == nil)
        unsetenv("TOKENKIT_TEST_OF_WITHHOLDING")
    }
}
