internal import HostAPI
internal import KeychainHost
internal import Platform
internal import SSHAgent
internal import SecureBytes

/// The messages of one connection to an SSH agent that has no card and no keychain, each behind its length in two bytes.
struct AgentMessages {
    private let messages: [[UInt8]]

    init(parsing input: [UInt8]) {
        var (rest, messages) = (input[...], [[UInt8]]())
        while rest.count > 2, messages.count < 64 {
            let length = Int(UInt16(bigEndianBytes: rest.prefix(2)))
            messages.append(Array(rest.dropFirst(2).prefix(length)))
            rest = rest.dropFirst(2 + length)
        }
        // An attempt to unlock takes time on purpose.
        self.messages = messages.filter { ![22, 23].contains($0.first) }
    }

    /// Has the agent answer all messages.
    ///
    /// - Returns: an answer that no client can read; nil for none.
    var unreadableAnswer: [UInt8]? {
        guard !messages.isEmpty else { return nil }
        let agent = Agent(AgentMessages.emptyHost)
        let client = AgentClient(
            named: "fuzz", at: "/fuzz", process: 1, { _, _ in AgentMessages.emptyHost() }, asking: { NoPrompter() })
        let session = AgentSession(agent, for: client)
        defer { session.end() }
        for message in messages {
            let answer = session.answer(message.span)
            if (try? AgentAnswer(parsing: answer.span)) == nil { return answer }
        }
        return nil
    }

    @Sendable private static func emptyHost() -> any InProcessHost {
        let preferences = KeychainPreferences(
            directories: Directories(system: "/nonexistent") { ["HOME": "/nonexistent"][$0] })
        return Host(
            forTokensOf: ProcessKeychains(preferences, drivers: { _ in [] }, readers: { [] }), prompter: nil,
            touchPrompter: nil)
    }
}
