import Testing

@testable import tokenctl

/// The command's advice about the SSH agent.
@Suite struct SSHTests {
    private static let enable = "systemctl --user enable --now tokenkit.socket tokenkit-ssh.socket"

    /// systemd opens no socket of a service that is active, and a service that is stopped while its socket is open begins again.
    @Test(arguments: [
        (true, false, false, enable), (true, true, true, enable), (true, false, true, enable),
        (true, true, false, "systemctl --user stop tokenkit.socket tokenkit.service && \(enable)"),
        (false, true, false, "tokenctl host start"), (false, false, false, "tokenctl host start"),
    ])
    func theAgentIsStartedByACommandThatSystemdTakes(
        hasSystemd: Bool, isHostServed: Bool, isAgentServed: Bool, command: String
    ) {
        #expect(
            SSH.Enable.command(hasSystemd: hasSystemd, isHostServed: isHostServed, isAgentServed: isAgentServed)
                == command)
    }
}
