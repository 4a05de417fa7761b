internal import CSecKeychain
internal import CThinClient

// From C's pointers to what a message holds.

/// The bytes of a text from the caller of a C function; nil for a null pointer.
///
/// - Throws: `errSecParam` for a length without a text.
func text(_ start: UnsafeRawPointer?, _ length: UInt32) throws(Failure) -> [UInt8]? {
    guard let start = unsafe start else {
        guard length == 0 else { throw Failure(errSecParam, "there is a length but no text") }
        return nil
    }
    guard length <= KeychainAnswer.maximumFields else { throw Failure(errSecDataTooLarge) }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: Int(length)))
}

extension [KeychainAttribute] {
    /// Adds a text, unless it is a null pointer.
    mutating func add(_ tag: Int, _ start: UnsafeRawPointer?, _ length: UInt32) throws(Failure) {
        if let text = try unsafe text(start, length) { append(KeychainAttribute(UInt64(tag), text)) }
    }

    /// Adds a number, unless it is 0, which stands for any.
    mutating func add(_ tag: Int, _ number: UInt32) {
        guard number != 0 else { return }
        append(KeychainAttribute(UInt64(tag), unsafe Swift.withUnsafeBytes(of: number) { unsafe [UInt8]($0) }))
    }
}

/// The entries of a list; none for a null list.
///
/// - Throws: `errSecParam` for a count without entries.
func entries(
    _ list: SecKeychainAttributeList?
) throws(Failure) -> UnsafeMutableBufferPointer<SecKeychainAttribute> {
    let (count, start) = unsafe (list?.count ?? 0, list?.attr)
    guard unsafe count == 0 || start != nil else {
        throw Failure(errSecParam, "the list has a count and no attributes")
    }
    guard count <= KeychainCall.maximumAttributes else {
        throw Failure(errSecParam, "the list has too many attributes")
    }
    return unsafe UnsafeMutableBufferPointer(start: start, count: Int(count))
}

/// The attributes of a list with their bytes.
func attributes(in list: SecKeychainAttributeList?) throws(Failure) -> [KeychainAttribute] {
    var attributes: [KeychainAttribute] = []
    let given = try unsafe entries(list)
    for index in 0..<given.count {
        let bytes = try unsafe text(given[index].data, given[index].length)
        attributes.append(KeychainAttribute(UInt64(unsafe given[index].tag), bytes ?? []))
    }
    return attributes
}

/// A password from the caller of a C function, which stays in the caller's memory.
///
/// - Throws: `errSecParam` for a length without an address; `errSecDataTooLarge`.
func password(_ start: UnsafeRawPointer?, _ length: UInt32) throws(Failure) -> Secrets {
    guard unsafe start != nil || length == 0 else {
        throw Failure(errSecParam, "the password is missing, and its length is given")
    }
    guard length <= FrameHeader.maximumSecrets else { throw Failure(errSecDataTooLarge) }
    var secrets = Secrets()
    try unsafe secrets.append(
        UnsafeMutablePointer(mutating: start?.assumingMemoryBound(to: UInt8.self)), UInt(length))
    return secrets
}

/// The programs that may read a new item; nil for its maker alone, where there is no access.
///
/// - Throws: `errSecParam` for what is no access.
func readers(_ initialAccess: UnsafeRawPointer?) throws(Failure) -> [KeychainProgram]? {
    guard let initialAccess = unsafe initialAccess else { return nil }
    return try unsafe access(OpaquePointer(initialAccess)).readers
}

/// The path of a keychain's file for the name that a program has for it.
func path(ofName name: UnsafePointer<CChar>?, _ context: inout CallContext) throws(Failure) -> [UInt8] {
    guard let name = unsafe name else { throw Failure(errSecParam, "a path is missing, or is not UTF-8") }
    return try Reply.ask(KeychainCall(.path, in: everywhere(unsafe [UInt8](text: name))), &context).path()
}

/// The name in the form that means the same in the host's working directory. A name without a slash is not a path.
private func everywhere(_ name: [UInt8]) -> [UInt8] {
    guard name.contains(0x2F), !(name.count > 1 && name[0] == 0x7E && name[1] == 0x2F) else { return name }
    return fromRoot(name)
}

/// A path from the root on.
func fromRoot(_ path: [UInt8]) -> [UInt8] {
    guard path.first != 0x2F, let folder = unsafe getcwd(nil, 0) else { return path }
    defer { unsafe free(folder) }
    var full = unsafe [UInt8](text: folder)
    if full != [0x2F] { full.append(0x2F) }
    return full + (path.starts(with: [0x2E, 0x2F]) ? [UInt8](path.dropFirst(2)) : path)
}
