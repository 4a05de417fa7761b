#if canImport(Security) && canImport(LocalAuthentication) && canImport(CryptoTokenKit)
    import CryptoTokenKit
    import Foundation
    import LocalAuthentication
    import Security
    import TestSupport
    import Testing

    /// A keychain wrapper as in programs for Apple's platforms, with their imports.
    private struct Wrapper {
        var service: String
        var context: LAContext?

        /// Queries of many wrappers have `AnyHashable` for values.
        private func query(_ account: String?) -> [String: AnyHashable] {
            var query: [String: AnyHashable] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                kSecUseDataProtectionKeychain as String: true,
            ]
            if let account { query[kSecAttrAccount as String] = account }
            if let context { query[kSecUseAuthenticationContext as String] = context }
            return query
        }

        func set(_ value: Data, _ account: String, _ flags: UInt? = nil) throws {
            var query = query(account)
            query[kSecValueData as String] = value
            if let flags {
                var error: Unmanaged<CFError>?
                guard
                    let control = SecAccessControlCreateWithFlags(
                        kCFAllocatorDefault, kSecAttrAccessibleWhenUnlockedThisDeviceOnly as CFTypeRef,
                        SecAccessControlCreateFlags(rawValue: CFOptionFlags(flags)), &error)
                else { throw try #require(error?.takeRetainedValue()) as any Error }
                query[kSecAttrAccessControl as String] = control
            }
            let status = SecItemAdd(query as CFDictionary, nil)
            guard status == noErr else {
                throw NSError(
                    domain: NSOSStatusErrorDomain, code: Int(status),
                    userInfo: [NSLocalizedDescriptionKey: SecCopyErrorMessageString(status, nil) as String? ?? ""])
            }
        }

        func get(_ account: String) -> Data? {
            var query = query(account)
            query[kSecReturnData as String] = kCFBooleanTrue
            var result: AnyObject?
            guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess else { return nil }
            return result as? Data
        }

        func accounts() -> Set<String> {
            var query = query(nil)
            query[kSecMatchLimit as String] = kSecMatchLimitAll
            query[kSecReturnAttributes as String] = true
            var result: AnyObject?
            guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess,
                let items = result as? [[String: AnyHashable]]
            else { return [] }
            return Set(items.compactMap { $0[kSecAttrAccount as String] as? String })
        }

        func removeAll() -> OSStatus {
            var query = query(nil)
            query[kSecMatchLimit as String] = kSecMatchLimitAll
            return SecItemDelete(query as CFDictionary)
        }
    }

    /// `import Security`, `import LocalAuthentication` and `import CryptoTokenKit`, as in code for Apple's platforms.
    @Suite struct ImportedNameTests {
        @Test func aWrapperForApplesKeychainDoesItsWork() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                defer { home.end() }
                let wrapper = Wrapper(service: "org.example.app")
                try wrapper.set(Data("one".utf8), "a")
                try wrapper.set(Data("two".utf8), "b")
                #expect(wrapper.get("a") == Data("one".utf8))
                #expect(wrapper.accounts() == ["a", "b"])
                #expect(performing { try wrapper.set(Data(), "a") }?.code == Int(errSecDuplicateItem))
                #expect(wrapper.removeAll() == errSecSuccess)
                #expect(wrapper.accounts().isEmpty)
            }
        }

        @Test func aContextIsAValueOfAQuery() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                defer { home.end() }
                let context = LAContext()
                context.setCredential(Data("open".utf8), type: .keychainPassword)
                let wrapper = Wrapper(service: "guarded", context: context)
                try wrapper.set(Data("secret".utf8), "a", SecAccessControlCreateFlags.userPresence.rawValue)
                #expect(wrapper.get("a") == Data("secret".utf8))
                let nobody = LAContext()
                nobody.interactionNotAllowed = true
                #expect(Wrapper(service: "guarded", context: nobody).get("a") == nil)
                let biometry = SecAccessControlCreateFlags.biometryAny.rawValue
                #expect(performing { try wrapper.set(Data(), "b", biometry) }?.code == Int(errSecUnimplemented))
                #expect(wrapper.accounts() == ["a"])
            }
        }

        @Test func anErrorHasItsParts() throws {
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateRandomKey([kSecAttrKeyType: kSecAttrKeyTypeRSA] as CFDictionary, &error) == nil)
            let failure = try #require(error?.takeRetainedValue())
            #expect(CFErrorGetDomain(failure) == NSOSStatusErrorDomain)
            #expect(CFErrorGetCode(failure) == Int(errSecParam))
            let info = CFErrorCopyUserInfo(failure) as? [String: Any]
            #expect(info?[NSLocalizedDescriptionKey] as? String == failure.localizedDescription)
        }
    }

    private func performing(_ body: () throws -> Void) -> NSError? {
        do {
            try body()
            return nil
        } catch { return error as NSError }
    }

    @Suite struct LAContextTests {
        @Test func thePasswordOfTheDefaultKeychainIsTheOwners() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                defer { home.end() }
                let context = LAContext()
                context.setCredential(Data("open".utf8), type: .keychainPassword)
                var error: NSError?
                #expect(context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
                #expect(error == nil)
                #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "see them"))
                let told = await withCheckedContinuation { continuation in
                    context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "see them") { isOwner, error in
                        continuation.resume(returning: isOwner && error == nil)
                    }
                }
                #expect(told)

                context.invalidate()
                #expect(await failure(of: context) == .invalidContext)
            }
        }

        @Test func aWrongPasswordIsNotTheOwners() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                defer { home.end() }
                let context = LAContext()
                context.setCredential(Data("wrong".utf8), type: .keychainPassword)
                #expect(await failure(of: context) == .authenticationFailed)
            }
        }

        @Test func whatIsNotHereIsToldByItsCode() async {
            await #expect(processExitsWith: .success) {
                let home = try Home()
                defer { home.end() }
                let context = LAContext()
                context.interactionNotAllowed = true
                #expect(context.biometryType == .none)
                let codes: [(LAPolicy, LAError.Code)] = [
                    (.deviceOwnerAuthenticationWithBiometrics, .biometryNotAvailable),
                    (.deviceOwnerAuthenticationWithWatch, .watchNotAvailable),
                    (.deviceOwnerAuthentication, .notInteractive),
                ]
                for (policy, code) in codes {
                    var error: NSError?
                    #expect(!context.canEvaluatePolicy(policy, error: &error))
                    #expect(error?.domain == LAErrorDomain && error?.code == code.rawValue)
                    #expect((error as? LAError)?.code == code)
                    #expect(await failure(of: context, policy) == code)
                }
            }
        }

        @Test func aProgramsTestsHaveAContextOfTheirOwn() async throws {
            let context: LAContext = OwnerIsThere()
            #expect(context.biometryType == .touchID)
            #expect(context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil))
            #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "see them"))
        }

        @Test func anErrorIsCaughtByItsCodeAndAsAnyOther() {
            func failing() throws { throw LAError(.userCancel, userInfo: [NSLocalizedDescriptionKey: "no"]) }
            do { try failing() } catch LAError.userCancel {} catch { Issue.record(error) }
            do { try failing() } catch let error as NSError {
                #expect(error.domain == LAErrorDomain && error.code == -2)
            }
            let foreign: any Error = NSError(domain: LAErrorDomain, code: -8)
            #expect((foreign as? LAError)?.code == .biometryLockout)
            #expect(NSError(domain: NSOSStatusErrorDomain, code: -8) as? LAError == nil)
        }
    }

    /// A context as in the tests of programs.
    private final class OwnerIsThere: LAContext, @unchecked Sendable {
        override var biometryType: LABiometryType { .touchID }
        override func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool { true }
        override func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool { true }
    }

    /// The code that the evaluation of a policy fails with.
    private func failure(
        of context: LAContext, _ policy: LAPolicy = .deviceOwnerAuthentication
    ) async -> LAError.Code? {
        do {
            try await context.evaluatePolicy(policy, localizedReason: "see them")
            return nil
        } catch { return (error as? LAError)?.code }
    }
#else
    #error("the modules have Apple's names")
#endif
