import Testing
import Wire

@Suite struct HostVariablesTests {
    @Test(arguments: [
        ("HOME=/root", true), ("TOKENKIT_MODULES=", true), ("DISPLAY=:0", true), ("LC_ALL=C", true),
        ("TOKENKIT_DEBUG=1", false), ("TOKENKIT_HOST=private", false), ("HOME2=/root", false), ("HOM=", false),
        ("", false), ("SSH_AUTH_SOCK=x", false),
        ("PINENTRY_USER_DATA=x", false),
    ])
    func `A host is given what it needs alone`(_ variable: String, _ isIncluded: Bool) {
        #expect(HostVariables.includes(Array(variable.utf8)) == isIncluded)
    }
}
