import Foundation
import TestSupport
import Testing

/// Programs of another user are not served, even where the folder of the sockets lets them in.
@Suite struct ConnectionsOfOthersTests {
    private let folder: TemporaryFolder
    private let host: SessionHost

    /// What a program is run by as another user; nothing for a test without root's rights, whose programs are its user's.
    private let asOther =
        geteuid() == 0 ? ["setpriv", "--reuid", "65533", "--regid", "65533", "--clear-groups"] : []

    init() throws {
        folder = try TemporaryFolder()
        let variables = ["PCSCLITE_CSOCK_NAME": folder.path("none"), "TOKENKIT_HOST": "session"]
        host = SessionHost(in: folder, ModuleProgram.environment(in: folder).merging(variables) { $1 })
    }

    /// Starts the host, and lets everybody reach its sockets.
    private func startForEverybody() throws {
        try host.start()
        for path in [folder.path, folder.path("tokenkit")] { #expect(chmod(path, 0o755) == 0) }
        for path in [host.socket, folder.path("tokenkit/ssh.sock")] { #expect(chmod(path, 0o666) == 0) }
    }

    @Test func theHostAnswersThemThatItIsBusy() throws {
        defer { host.stop() }
        try startForEverybody()
        let hello = Program.packageRoot.appending(path: "Tests/Fuzz/Seeds/hello/first").path()
        let script = """
            import socket, struct, sys
            hello = bytes.fromhex(sys.argv[2])
            client = socket.socket(socket.AF_UNIX)
            client.connect(sys.argv[1])
            client.sendall(struct.pack("<4B3I", 1, 0, 0, 0, 0, len(hello), 0) + hello)
            print(struct.unpack_from("<Q", client.recv(64), 16)[0])
            """
        let bytes = try #require(FileManager.default.contents(atPath: hello)).map { String(format: "%02x", $0) }
            .joined()
        let greeting = ["/usr/bin/python3", "-c", script, host.socket, bytes]
        // A program of the user learns that it has another environment.
        let (otherEnvironment, busy) = ("2\n", "3\n")
        let own = try Program.run(greeting)
        #expect(own.text == otherEnvironment, "\(own)")
        let other = try Program.run(asOther + greeting)
        #expect(other.text == (asOther.isEmpty ? otherEnvironment : busy), "\(other)")
    }

    @Test func theAgentHangsUp() throws {
        defer { host.stop() }
        try startForEverybody()
        // An agent that hung up before the question came would end ssh-add by SIGPIPE, in which it says nothing.
        let list = [
            "env", "--ignore-signal=PIPE", "SSH_AUTH_SOCK=" + folder.path("tokenkit/ssh.sock"), "ssh-add", "-l",
        ]
        let (noKeys, noAgent) = ("The agent has no identities.", "communication with agent failed")
        let own = try Program.run(list)
        #expect("\(own)".contains(noKeys), "\(own)")
        let other = try Program.run(asOther + list)
        #expect("\(other)".contains(asOther.isEmpty ? noKeys : noAgent), "\(other)")
    }
}
