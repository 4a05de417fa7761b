public import Foundation
internal import HostAPI
internal import KeychainModel
internal import KeychainCalls
internal import Localization
internal import Synchronization

/// Which programs may read a password without a question. SecAccess.h.
///
/// The session's host decides, and asks a person about each other program. A host that serves one program alone asks about none, and fails
/// the functions of items with `errSecNotAvailable`.
public final class SecAccess: Sendable {
    private let all: Mutex<[SecACL]>

    /// An access as macOS makes it: an entry for those who may change it, which asks; one for what any program may do; and one for the use
    /// of the secret.
    ///
    /// - Parameter applications: the programs that may use the secret; nil for any.
    init(_ applications: [SecTrustedApplication]?, _ summary: String) {
        all = Mutex([
            SecACL([], summary, [kSecACLAuthorizationChangeACL]), SecACL(nil, summary, [kSecACLAuthorizationEncrypt]),
            SecACL(applications, summary, SecAccess.restricted),
        ])
    }

    private static let restricted = [
        kSecACLAuthorizationDecrypt, kSecACLAuthorizationSign, kSecACLAuthorizationMAC, kSecACLAuthorizationDerive,
        kSecACLAuthorizationExportClear, kSecACLAuthorizationExportWrapped,
    ]

    var entries: [SecACL] { all.withLock(\.self).filter { $0.state.withLock(\.isPresent) } }

    fileprivate func add(_ entry: SecACL) { all.withLock { $0.append(entry) } }

    /// The programs that may read a password: those of each entry that lets them decrypt.
    var readers: [AccessProgram] {
        var readers: [AccessProgram] = []
        for entry in entries.map({ $0.state.withLock(\.self) }) where entry.letsRead {
            guard let applications = entry.applications else { return [.any] }
            for application in applications where !readers.contains(application.program) {
                readers.append(application.program)
            }
        }
        return readers
    }
}

/// An entry of an access: authorizations, and the programs that have them without a question.
public final class SecACL: Sendable {
    struct State {
        /// Nil for any program.
        var applications: [SecTrustedApplication]?
        var summary: String
        var authorizations: [String]
        /// Whether it still belongs to its access.
        var isPresent = true

        /// Whether the entry says who may change the access.
        var isOwner: Bool { authorizations.contains(kSecACLAuthorizationChangeACL) }
        var letsRead: Bool {
            authorizations.contains(kSecACLAuthorizationDecrypt) || authorizations.contains(kSecACLAuthorizationAny)
        }
    }

    let state: Mutex<State>

    fileprivate init(_ applications: [SecTrustedApplication]?, _ summary: String, _ authorizations: [String]) {
        state = Mutex(State(applications: applications, summary: summary, authorizations: authorizations))
    }

    private static var noOwner: KeychainError {
        KeychainError(.invalidOwnerEdit, "an access needs the entry for those who change it")
    }

    fileprivate func remove() throws(KeychainError) {
        try state.withLock { state throws(KeychainError) in
            guard !state.isOwner else { throw SecACL.noOwner }
            state.isPresent = false
        }
    }

    fileprivate func update(_ authorizations: [String]) throws(KeychainError) {
        try state.withLock { state throws(KeychainError) in
            guard !state.isOwner || authorizations.contains(kSecACLAuthorizationChangeACL) else {
                throw SecACL.noOwner
            }
            state.authorizations = authorizations
        }
    }
}

/// A program that an access names.
public final class SecTrustedApplication: Sendable {
    let program: AccessProgram

    init(_ program: AccessProgram) {
        self.program = program
    }
}

/// The kinds of questions of macOS. There is one kind here, and the functions take no other.
public struct SecKeychainPromptSelector: OptionSet, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    public static let requirePassphase = SecKeychainPromptSelector(rawValue: 0x01)
    public static let unsigned = SecKeychainPromptSelector(rawValue: 0x10)
    public static let unsignedAct = SecKeychainPromptSelector(rawValue: 0x20)
    public static let invalid = SecKeychainPromptSelector(rawValue: 0x40)
    public static let invalidAct = SecKeychainPromptSelector(rawValue: 0x80)
}

// MARK: - Trusted applications

/// The program in a file; the calling one for nil.
///
/// The host looks at the file when an item is given the access: a path that is no program then, or an interpreter, fails that call with
/// `errSecParam`.
@discardableResult
public func SecTrustedApplicationCreateFromPath(
    _ path: UnsafePointer<CChar>?, _ app: UnsafeMutablePointer<SecTrustedApplication?>
) -> OSStatus {
    status { () throws(KeychainError) in
        guard let path = unsafe path else {
            unsafe app.pointee = SecTrustedApplication(.asking)
            return
        }
        guard let name = unsafe String(validatingCString: path), !name.isEmpty else {
            throw KeychainError(.param, "the path is empty, or is not UTF-8")
        }
        let full = URL(fileURLWithPath: name).path
        unsafe app.pointee = SecTrustedApplication(.path(full))
    }
}

/// The path of the program's file, with a final zero.
@discardableResult
public func SecTrustedApplicationCopyData(
    _ appRef: SecTrustedApplication, _ data: UnsafeMutablePointer<CFData?>
) -> OSStatus {
    status { () throws(KeychainError) in
        let path: String
        switch appRef.program {
        case .path(let name), .decided(let name, _): path = name
        case .any, .asking:
            guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
                throw KeychainError(.notAvailable, "the program's file is not known")
            }
            path = own
        }
        unsafe data.pointee = Data(path.utf8) + [0]
    }
}

// MARK: - Accesses

/// An access by which the listed programs read without a question: none for an empty list, the calling one for nil.
@discardableResult
public func SecAccessCreate(
    _ descriptor: CFString, _ trustedlist: CFArray?, _ accessRef: UnsafeMutablePointer<SecAccess?>
) -> OSStatus {
    status { () throws(KeychainError) in
        let trusted = try applications(trustedlist) ?? [SecTrustedApplication(.asking)]
        unsafe accessRef.pointee = SecAccess(trusted, descriptor)
    }
}

/// The entries. What is changed in one is changed in the access.
@discardableResult
public func SecAccessCopyACLList(_ accessRef: SecAccess, _ aclList: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    unsafe aclList.pointee = accessRef.entries
    return errSecSuccess
}

/// The entries that have an authorization; nil where there is none.
public func SecAccessCopyMatchingACLList(_ accessRef: SecAccess, _ authorizationTag: Any) -> CFArray? {
    guard let tag = authorizationTag as? String else { return nil }
    let found = accessRef.entries.filter { $0.state.withLock(\.authorizations).contains(tag) }
    return found.isEmpty ? nil : found
}

// MARK: - Entries

/// Adds an entry for each authorization.
///
/// - Parameters:
///   - applicationList: nil for any program.
///   - promptSelector: empty, else `errSecParam`.
@discardableResult
public func SecACLCreateWithSimpleContents(
    _ access: SecAccess, _ applicationList: CFArray?, _ description: CFString,
    _ promptSelector: SecKeychainPromptSelector, _ newAcl: UnsafeMutablePointer<SecACL?>
) -> OSStatus {
    status { () throws(KeychainError) in
        let entry = SecACL(try contents(applicationList, promptSelector), description, [kSecACLAuthorizationAny])
        access.add(entry)
        unsafe newAcl.pointee = entry
    }
}

/// Removes an entry from its access; `errSecInvalidOwnerEdit` for the one with ``kSecACLAuthorizationChangeACL``.
@discardableResult
public func SecACLRemove(_ aclRef: SecACL) -> OSStatus {
    status { () throws(KeychainError) in try aclRef.remove() }
}

@discardableResult
public func SecACLCopyContents(
    _ acl: SecACL, _ applicationList: UnsafeMutablePointer<CFArray?>, _ description: UnsafeMutablePointer<CFString?>,
    _ promptSelector: UnsafeMutablePointer<SecKeychainPromptSelector>
) -> OSStatus {
    let state = acl.state.withLock(\.self)
    unsafe applicationList.pointee = state.applications
    unsafe description.pointee = state.summary
    unsafe promptSelector.pointee = []
    return errSecSuccess
}

/// Changes an entry; the parameters are those of ``SecACLCreateWithSimpleContents(_:_:_:_:_:)``.
@discardableResult
public func SecACLSetContents(
    _ acl: SecACL, _ applicationList: CFArray?, _ description: CFString, _ promptSelector: SecKeychainPromptSelector
) -> OSStatus {
    status { () throws(KeychainError) in
        let trusted = try contents(applicationList, promptSelector)
        acl.state.withLock { ($0.applications, $0.summary) = (trusted, description) }
    }
}

public func SecACLCopyAuthorizations(_ acl: SecACL) -> CFArray { acl.state.withLock(\.authorizations) }

@discardableResult
public func SecACLUpdateAuthorizations(_ acl: SecACL, _ authorizations: CFArray) -> OSStatus {
    status { () throws(KeychainError) in
        guard let tags = authorizations as? [String], tags.allSatisfy(authorizationTags.contains) else {
            throw KeychainError(.param, "there is no such authorization")
        }
        try acl.update(tags)
    }
}

/// - Throws: `errSecParam` for a question of another kind, which would be less than the caller counts on.
private func contents(
    _ applicationList: CFArray?, _ promptSelector: SecKeychainPromptSelector
) throws(KeychainError) -> [SecTrustedApplication]? {
    guard promptSelector.isEmpty else { throw KeychainError(.param, "there is one kind of question (pass [])") }
    return try applications(applicationList)
}

/// - Throws: `errSecParam` for what is no trusted application.
private func applications(_ list: CFArray?) throws(KeychainError) -> [SecTrustedApplication]? {
    guard let list else { return nil }
    guard let applications = list as? [SecTrustedApplication] else {
        throw KeychainError(.param, "the list has something else than trusted applications")
    }
    return applications
}

// MARK: - Items

/// The programs that may read an item. The keychain has to be unlocked, since they are sealed with it: `errSecInteractionNotAllowed`.
@discardableResult
public func SecKeychainItemCopyAccess(
    _ itemRef: SecKeychainItem, _ access: UnsafeMutablePointer<SecAccess?>
) -> OSStatus {
    status { () throws(KeychainError) in
        let item = try itemRef.present()
        let programs = try Keychains.host.access(to: item.reference, Keychains.caller.request()).readers
        let trusted = programs.contains(.any) ? nil : programs.map(SecTrustedApplication.init)
        unsafe access.pointee = SecAccess(trusted, "")
    }
}

/// Puts an access in the place of the one before, as a whole.
///
/// A person has to agree to each program that could not read the item before, unless this program has made the item and still trusts
/// itself. A program that a person has denied the item stays denied.
@discardableResult
public func SecKeychainItemSetAccess(_ itemRef: SecKeychainItem, _ access: SecAccess) -> OSStatus {
    status { () throws(KeychainError) in
        try Keychains.caller.setAccess(of: itemRef.present(), access.readers)
    }
}

// MARK: - Authorizations

// A program that an entry with Decrypt or Any lists may read the password without a question. The others have no effect: each program may
// write and delete the item, a person is asked before an access is widened, and the rest is not for passwords.

public let kSecACLAuthorizationAny: CFString = "ACLAuthorizationAny"
public let kSecACLAuthorizationLogin: CFString = "ACLAuthorizationLogin"
public let kSecACLAuthorizationGenKey: CFString = "ACLAuthorizationGenKey"
public let kSecACLAuthorizationDelete: CFString = "ACLAuthorizationDelete"
public let kSecACLAuthorizationExportWrapped: CFString = "ACLAuthorizationExportWrapped"
public let kSecACLAuthorizationExportClear: CFString = "ACLAuthorizationExportClear"
public let kSecACLAuthorizationImportWrapped: CFString = "ACLAuthorizationImportWrapped"
public let kSecACLAuthorizationImportClear: CFString = "ACLAuthorizationImportClear"
public let kSecACLAuthorizationSign: CFString = "ACLAuthorizationSign"
public let kSecACLAuthorizationEncrypt: CFString = "ACLAuthorizationEncrypt"
public let kSecACLAuthorizationDecrypt: CFString = "ACLAuthorizationDecrypt"
public let kSecACLAuthorizationMAC: CFString = "ACLAuthorizationMAC"
public let kSecACLAuthorizationDerive: CFString = "ACLAuthorizationDerive"
public let kSecACLAuthorizationKeychainCreate: CFString = "ACLAuthorizationKeychainCreate"
public let kSecACLAuthorizationKeychainDelete: CFString = "ACLAuthorizationKeychainDelete"
public let kSecACLAuthorizationKeychainItemRead: CFString = "ACLAuthorizationKeychainItemRead"
public let kSecACLAuthorizationKeychainItemInsert: CFString = "ACLAuthorizationKeychainItemInsert"
public let kSecACLAuthorizationKeychainItemModify: CFString = "ACLAuthorizationKeychainItemModify"
public let kSecACLAuthorizationKeychainItemDelete: CFString = "ACLAuthorizationKeychainItemDelete"
public let kSecACLAuthorizationChangeACL: CFString = "ACLAuthorizationChangeACL"
public let kSecACLAuthorizationChangeOwner: CFString = "ACLAuthorizationChangeOwner"
public let kSecACLAuthorizationPartitionID: CFString = "ACLAuthorizationPartitionID"
public let kSecACLAuthorizationIntegrity: CFString = "ACLAuthorizationIntegrity"

private let authorizationTags: Set<String> = [
    kSecACLAuthorizationAny, kSecACLAuthorizationLogin, kSecACLAuthorizationGenKey, kSecACLAuthorizationDelete,
    kSecACLAuthorizationExportWrapped, kSecACLAuthorizationExportClear, kSecACLAuthorizationImportWrapped,
    kSecACLAuthorizationImportClear, kSecACLAuthorizationSign, kSecACLAuthorizationEncrypt, kSecACLAuthorizationDecrypt,
    kSecACLAuthorizationMAC, kSecACLAuthorizationDerive, kSecACLAuthorizationKeychainCreate,
    kSecACLAuthorizationKeychainDelete, kSecACLAuthorizationKeychainItemRead, kSecACLAuthorizationKeychainItemInsert,
    kSecACLAuthorizationKeychainItemModify, kSecACLAuthorizationKeychainItemDelete, kSecACLAuthorizationChangeACL,
    kSecACLAuthorizationChangeOwner, kSecACLAuthorizationPartitionID, kSecACLAuthorizationIntegrity,
]
