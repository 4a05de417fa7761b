import Glibc
import Platform
import Testing

@Suite struct UserTests {
    @Test func rootIsKnownByNameAndHome() {
        let root = User(0)
        #expect(root.name == "root" && root.text == "root" && root.home?.hasPrefix("/") == true)
        #expect(User.effective.number == geteuid())
    }

    @Test func aUserWithoutANameIsKnownByTheNumber() {
        let user = User(3_999_999_999)
        #expect(user.name == nil && user.home == nil && user.text == "the user with number 3999999999")
    }

    @Test func everyUserOfTheFirstNamespaceHasANumber() {
        // In a namespace that has no number for the overflow user this process would be another's.
        #expect(!User(geteuid()).isUnmapped && !User(0).isUnmapped)
    }
}
