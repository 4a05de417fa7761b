import Testing

/// Sessions at the terminal, with the command that was built. Each is a file in Scripts.
@Suite struct ScriptTests {
    @Test(arguments: [
        "backup", "bad-input", "binding", "cards", "certificates", "completions", "data-objects", "decrypt", "export",
        "files", "identities", "import", "interpreter", "item", "keychain-settings", "keychains", "no-daemon",
        "notifications",
        "passwords", "prompts", "removal", "sign-card", "sign-local", "stream", "test-cards", "trace", "usage",
        "virtual-card", "watch",
    ])
    func `A session goes as written`(_ script: String) throws {
        let complaint = try Performance(script: script).play()
        #expect(complaint == nil)
    }
}
