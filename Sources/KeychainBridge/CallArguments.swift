internal import HostAPI
internal import KeychainCalls
internal import KeychainModel
internal import Localization
internal import Wire

/// The arguments of a call, which may have any value: it comes from another process.
struct CallArguments {
    let function: KeychainFunction
    let allowsQuestions: Bool
    let hasPassword: Bool
    /// The path of the call's keychain; nil for the default one.
    let keychain: String?
    /// The path of the keychain that a copy is added to; nil for the default one.
    let target: String?
    let item: [UInt8]
    let attributes: [(tag: UInt32, value: [UInt8]?)]
    /// The programs that may read the item from now on; nil for its maker alone, or as it was.
    let access: [AccessProgram]?
    private let code: UInt64

    /// - Throws: `errSecParam` for a path that is not UTF-8, too many attributes, or a tag that none can have.
    init(_ call: KeychainCall) throws(KeychainError) {
        function = call.function
        allowsQuestions = call.allowsQuestions
        hasPassword = call.hasPassword
        keychain = try CallArguments.path(call.keychain)
        target = try CallArguments.path(call.target)
        item = call.item
        code = call.itemClass
        access = try call.access.map { (programs) throws(KeychainError) in
            guard programs.count <= KeychainProgram.maximumCount else {
                throw KeychainError(.param, "the access has too many programs")
            }
            return try programs.map { (program) throws(KeychainError) in try AccessProgram(program) }
        }
        guard call.attributes.count <= KeychainCall.maximumAttributes else {
            throw KeychainError(.param, "the list has too many attributes")
        }
        var attributes: [(tag: UInt32, value: [UInt8]?)] = []
        for attribute in call.attributes {
            guard let tag = UInt32(exactly: attribute.tag) else { throw KeychainError(.noSuchAttribute) }
            attributes.append((tag, attribute.value))
        }
        self.attributes = attributes
    }

    fileprivate static func path(_ bytes: [UInt8]?) throws(KeychainError) -> String? {
        guard let bytes else { return nil }
        guard let path = String(validating: bytes, as: UTF8.self) else { throw noPath }
        return path
    }

    fileprivate static let noPath = KeychainError(.param, "a path is missing, or is not UTF-8")

    /// The path or name that the function needs.
    func path() throws(KeychainError) -> String {
        guard let keychain else { throw CallArguments.noPath }
        return keychain
    }

    /// The keychains that are searched; nil for the search list.
    var searched: [String]? { keychain.map { [$0] } }

    /// - Throws: `errSecNoSuchClass`.
    func itemClass() throws(KeychainError) -> ItemClass {
        try ItemClass.passwords(UInt32(exactly: code) ?? 0)
    }

    /// The attributes with their values in the class.
    ///
    /// - Throws: `errSecNoSuchAttr`; `errSecParam` for bytes that are not a value of the attribute.
    func attributes(of itemClass: ItemClass) throws(KeychainError) -> Attributes {
        var named: Attributes = [:]
        for (tag, value) in attributes {
            named[Attribute(tag: tag)] = try itemClass.value(ofTag: tag, value ?? [])
        }
        return named
    }
}

extension AccessProgram {
    /// - Throws: `errSecParam` for a path that is not UTF-8.
    fileprivate init(_ program: KeychainProgram) throws(KeychainError) {
        func text(_ path: [UInt8]) throws(KeychainError) -> String {
            guard let path = try CallArguments.path(path) else { throw CallArguments.noPath }
            return path
        }
        switch program {
        case .any: self = .any
        case .asking: self = .asking
        case .path(let path): self = .path(try text(path))
        case .decided(let path, let identity): self = .decided(name: try text(path), identity: identity)
        }
    }
}

extension KeychainProgram {
    init(_ program: AccessProgram) {
        switch program {
        case .any: self = .any
        case .asking: self = .asking
        case .path(let path): self = .path(Array(path.utf8))
        case .decided(let name, let identity): self = .decided(path: Array(name.utf8), identity: identity)
        }
    }
}
