import Security
import TestSupport
import Testing

/// SecAccess.h, SecACL.h and SecTrustedApplication.h, as Swift programs for macOS call them.
@Suite struct SecAccessNameTests {
    private func applications(_ acl: SecACL) -> [SecTrustedApplication]? {
        var (list, text): (CFArray?, CFString?)
        var selector = SecKeychainPromptSelector.invalid
        #expect(SecACLCopyContents(acl, &list, &text, &selector) == errSecSuccess)
        #expect(text == "mail" && selector == [])
        return list as? [SecTrustedApplication]
    }

    @Test func anAccessHasTheEntriesOfMacOS() throws {
        var created: SecAccess?
        #expect(SecAccessCreate("mail", nil, &created) == errSecSuccess)
        let access = try #require(created)
        var list: CFArray?
        #expect(SecAccessCopyACLList(access, &list) == errSecSuccess)
        let entries = try #require(list as? [SecACL])
        #expect(entries.count == 3)
        #expect(SecACLCopyAuthorizations(entries[0]) as? [String] == [kSecACLAuthorizationChangeACL])
        #expect(SecACLCopyAuthorizations(entries[1]) as? [String] == [kSecACLAuthorizationEncrypt])
        #expect(applications(entries[0])?.count == 0 && applications(entries[1]) == nil)
        #expect(applications(entries[2])?.count == 1)
        #expect(SecACLRemove(entries[0]) == errSecInvalidOwnerEdit)
        #expect(SecACLUpdateAuthorizations(entries[0], [kSecACLAuthorizationSign]) == errSecInvalidOwnerEdit)
        #expect(CFGetTypeID(access) == SecAccessGetTypeID() && CFGetTypeID(entries[0]) == SecACLGetTypeID())
    }

    @Test func anEntryIsChangedInItsAccess() throws {
        var (created, trusted): (SecAccess?, SecTrustedApplication?)
        #expect(SecAccessCreate("mail", [], &created) == errSecSuccess)
        #expect(SecTrustedApplicationCreateFromPath("/usr/bin/true", &trusted) == errSecSuccess)
        let (access, application) = (try #require(created), try #require(trusted))
        let found = SecAccessCopyMatchingACLList(access, kSecACLAuthorizationDecrypt) as? [SecACL]
        let entry = try #require(found?.first)
        #expect(applications(entry)?.count == 0)
        #expect(SecACLSetContents(entry, [application], "mail", .unsigned) == errSecParam)
        #expect(SecACLSetContents(entry, ["/usr/bin/true"], "mail", []) == errSecParam)
        #expect(SecACLSetContents(entry, [application], "mail", []) == errSecSuccess)
        let again = SecAccessCopyMatchingACLList(access, kSecACLAuthorizationSign) as? [SecACL]
        let named = try #require(again?.first.flatMap(applications)?.first)
        var path: CFData?
        #expect(SecTrustedApplicationCopyData(named, &path) == errSecSuccess)
        #expect(path.map { String(decoding: $0, as: UTF8.self) } == "/usr/bin/true\0")
        #expect(SecACLUpdateAuthorizations(entry, ["mail"]) == errSecParam)
        var added: SecACL?
        #expect(SecACLCreateWithSimpleContents(access, nil, "mail", [], &added) == errSecSuccess)
        let all = try #require(added)
        #expect(SecACLCopyAuthorizations(all) as? [String] == [kSecACLAuthorizationAny])
        #expect(SecACLRemove(all) == errSecSuccess)
        #expect(SecAccessCopyMatchingACLList(access, kSecACLAuthorizationAny) == nil)
    }

    @Test func aHostOfOneProgramHasNoAccessAndAddsNoItemWithOne() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            var nobody: SecAccess?
            #expect(SecAccessCreate("mail", [], &nobody) == errSecSuccess)
            func add(_ access: SecAccess?) -> (OSStatus, SecKeychainItem?) {
                var list = SecKeychainAttributeList(count: 0, attr: nil)
                var item: SecKeychainItem?
                let status = SecKeychainItemCreateFromContent(
                    .genericPasswordItemClass, &list, 1, "p", nil, access, &item)
                return (status, item)
            }
            #expect(add(nobody).0 == errSecNotAvailable)
            let (status, item) = add(nil)
            #expect(status == errSecSuccess, "the first one was not added")
            var access: SecAccess?
            #expect(SecKeychainItemCopyAccess(try #require(item), &access) == errSecNotAvailable)
            #expect(
                SecKeychainItemSetAccess(try #require(item), try #require(nobody)) == errSecNotAvailable)
        }
    }
}
