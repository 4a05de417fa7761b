internal import CSecKeychain
internal import CThinClient

/// The object that a `CFStringRef` points to, unless that is a constant of the library: text at a fixed address, with a final zero.
final class StringReference: Reference {
    let memory: CallerMemory

    init(_ bytes: [UInt8]) throws(Failure) {
        memory = try CallerMemory(bytes)
        super.init(.string)
    }

    deinit { memory.free() }
}

/// The object that a `CFArrayRef` points to. It holds what it points to.
@safe
final class ArrayReference: Reference {
    let values: [UnsafeRawPointer]

    init(_ values: [UnsafeRawPointer]) {
        unsafe self.values = values
        unsafe values.forEach { value in _ = unsafe retain(value) }
        super.init(.array)
    }

    convenience init<Object: Reference>(_ objects: [Object]) {
        unsafe self.init(objects.map { unsafe UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
    }

    deinit { unsafe values.forEach { value in unsafe release(value) } }
}

/// The object that a `SecTrustedApplicationRef` points to.
final class ApplicationReference: Reference {
    let program: KeychainProgram

    init(_ program: KeychainProgram) {
        self.program = program
        super.init(.application)
    }
}

/// The object that a `SecACLRef` points to: an entry of an access. One thread at a time may use the entries of an access.
final class ACLReference: Reference {
    /// Nil for any program.
    var applications: [ApplicationReference]?
    var summary: [UInt8]
    /// The bits of the authorizations, by their places in the library's table.
    var authorizations: UInt32
    /// Whether it still belongs to its access.
    var isPresent = true

    init(_ applications: [ApplicationReference]?, _ summary: [UInt8], _ authorizations: UInt32) {
        (self.applications, self.summary, self.authorizations) = (applications, summary, authorizations)
        super.init(.acl)
    }

    /// Whether the entry says who may change the access.
    var isOwner: Bool { authorizations & Authorizations.owner != 0 }
}

/// The object that a `SecAccessRef` points to.
final class AccessReference: Reference {
    let summary: [UInt8]
    private var all: [ACLReference]

    /// An access as macOS makes it: an entry for those who may change it, which asks; one for what any program may do; and one for the use
    /// of the secret.
    ///
    /// - Parameter applications: the programs that may use the secret; nil for any.
    init(_ applications: [ApplicationReference]?, _ summary: [UInt8]) {
        self.summary = summary
        all = [
            ACLReference([], summary, Authorizations.owner), ACLReference(nil, summary, Authorizations.open),
            ACLReference(applications, summary, Authorizations.restricted),
        ]
        super.init(.access)
    }

    var entries: [ACLReference] { all.filter { $0.isPresent } }

    func add(_ entry: ACLReference) { all.append(entry) }

    /// The programs that may read a password: those of each entry that lets them decrypt.
    var readers: [KeychainProgram] {
        var readers: [KeychainProgram] = []
        for entry in entries where entry.authorizations & Authorizations.reading != 0 {
            guard let applications = entry.applications else { return [.any] }
            for application in applications where !readers.contains(application.program) {
                readers.append(application.program)
            }
        }
        return readers
    }
}

/// Sets of authorizations, as bits by their places in the library's table.
enum Authorizations {
    static let any = bit(tokenkit_authorization_any)
    static let owner = bit(tokenkit_authorization_change_acl)
    static let open = bit(tokenkit_authorization_encrypt)
    static let restricted =
        bit(tokenkit_authorization_decrypt) | bit(tokenkit_authorization_sign) | bit(tokenkit_authorization_mac)
        | bit(tokenkit_authorization_derive) | bit(tokenkit_authorization_export_clear)
        | bit(tokenkit_authorization_export_wrapped)
    static let reading = bit(tokenkit_authorization_decrypt) | any

    private static func bit(_ place: tokenkit_authorization) -> UInt32 { 1 << UInt32(place.rawValue) }

    /// The bit of a tag: one of the constants, or a text that is equal to one.
    ///
    /// - Throws: `errSecParam` for another text, and for something else.
    static func bit(ofTag tag: UnsafeRawPointer?) throws(Failure) -> UInt32 {
        for place in 0..<UInt32(tokenkit_authorization_count.rawValue) {
            if unsafe tag == tokenkit_authorization_tag(place) { return 1 << place }
        }
        guard let text = try unsafe string(tag) else { throw Failure(errSecParam, "an authorization is missing") }
        for place in 0..<UInt32(tokenkit_authorization_count.rawValue) {
            if let name = unsafe tokenkit_constant_text(tokenkit_authorization_tag(place)),
                unsafe [UInt8](text: name) == text
            {
                return 1 << place
            }
        }
        throw Failure(errSecParam, "there is no such authorization")
    }

    /// The tags of bits.
    static func tags(_ bits: UInt32) -> ArrayReference {
        var tags: [UnsafeRawPointer] = unsafe []
        for place in 0..<UInt32(tokenkit_authorization_count.rawValue) where bits & 1 << place != 0 {
            if let tag = unsafe tokenkit_authorization_tag(place) { unsafe tags.append(tag) }
        }
        return unsafe ArrayReference(tags)
    }
}

// MARK: - Pointers

/// The bytes of a text; nil for NULL.
///
/// - Throws: `errSecParam` for a reference to something else.
func string(_ reference: UnsafeRawPointer?) throws(Failure) -> [UInt8]? {
    guard let reference = unsafe reference else { return nil }
    if let text = unsafe tokenkit_constant_text(reference) { return unsafe [UInt8](text: text) }
    guard let object = unsafe OpaquePointer(reference).object(), object.kind == .string else {
        throw Failure(errSecParam, "the reference is not to a string")
    }
    let memory = unsafe unsafeDowncast(object, to: StringReference.self).memory
    return unsafe [UInt8](UnsafeRawBufferPointer(start: memory.start, count: memory.count))
}

/// Nil for NULL, and for a reference to something else.
func array(_ reference: OpaquePointer?) -> ArrayReference? {
    guard let object = unsafe reference?.object(), object.kind == .array else { return nil }
    return unsafe unsafeDowncast(object, to: ArrayReference.self)
}

/// The programs of a list; nil for NULL, which stands for a default.
///
/// - Throws: `errSecParam` for what is no array of trusted applications.
func applications(_ reference: OpaquePointer?) throws(Failure) -> [ApplicationReference]? {
    guard unsafe reference != nil else { return nil }
    guard let list = unsafe array(reference) else { throw Failure(errSecParam, "the list is not an array") }
    guard unsafe list.values.count <= KeychainProgram.maximumCount else {
        throw Failure(errSecParam, "the list has too many applications")
    }
    var applications: [ApplicationReference] = []
    for index in unsafe list.values.indices {
        applications.append(try unsafe application(OpaquePointer(list.values[index])))
    }
    return applications
}

func application(_ reference: OpaquePointer?) throws(Failure) -> ApplicationReference {
    guard let object = unsafe reference?.object(), object.kind == .application else {
        throw Failure(errSecParam, "the reference is not to a trusted application")
    }
    return unsafe unsafeDowncast(object, to: ApplicationReference.self)
}

func entry(_ reference: OpaquePointer?) throws(Failure) -> ACLReference {
    guard let object = unsafe reference?.object(), object.kind == .acl else {
        throw Failure(errSecParam, "the reference is not to an entry of an access")
    }
    return unsafe unsafeDowncast(object, to: ACLReference.self)
}

func access(_ reference: OpaquePointer?) throws(Failure) -> AccessReference {
    guard let object = unsafe reference?.object(), object.kind == .access else {
        throw Failure(errSecParam, "the reference is not to an access")
    }
    return unsafe unsafeDowncast(object, to: AccessReference.self)
}
