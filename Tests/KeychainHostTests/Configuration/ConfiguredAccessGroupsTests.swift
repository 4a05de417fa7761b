import KeychainModel
import Testing

@testable import KeychainHost

@Suite struct ConfiguredAccessGroupsTests {
    @Test(
        arguments: [(nil, ["*"]), ("", ["*"]), (":", ["*"]), ("a", ["a"]), ("a::b", ["a", "b"])]
            as [(String?, [String])])
    func theEnvironmentMayNameThem(text: String?, names: [String]) {
        #expect(AccessGroups(configured: text).names == names)
    }
}
