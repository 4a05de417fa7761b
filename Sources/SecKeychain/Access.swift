public import CSecKeychain
internal import CThinClient

// MARK: - Trusted applications

@c
public func SecTrustedApplicationCreateFromPath(
    _ path: UnsafePointer<CChar>?, _ app: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { _ throws(Failure) in
        guard let app = unsafe app else { throw argumentsBad }
        guard let path = unsafe path else {
            unsafe app.pointee = .retained(ApplicationReference(.asking))
            return
        }
        let name = unsafe [UInt8](text: path)
        guard !name.isEmpty else { throw Failure(errSecParam, "the path is empty") }
        unsafe app.pointee = .retained(ApplicationReference(.path(fromRoot(name))))
    }
}

@c
public func SecTrustedApplicationCopyData(
    _ appRef: OpaquePointer?, _ data: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { _ throws(Failure) in
        let application = try unsafe application(appRef)
        guard let data = unsafe data else { throw argumentsBad }
        let path: [UInt8] =
            switch application.program {
            case .path(let path), .decided(let path, _): path
            case .any, .asking: try ownPath()
            }
        unsafe data.pointee = .retained(try DataReference(path + [0]))
    }
}

/// The path of the file that this process runs.
private func ownPath() throws(Failure) -> [UInt8] {
    let memory = try CallerMemory(4096)
    defer { memory.free() }
    let start = unsafe memory.start.assumingMemoryBound(to: CChar.self)
    let count = unsafe readlink("/proc/self/exe", start, memory.count)
    guard count > 0, count < memory.count else {
        throw Failure(errSecNotAvailable, "the program's file is not known")
    }
    return unsafe [UInt8](text: start)
}

// MARK: - Accesses

@c
public func SecAccessCreate(
    _ descriptor: OpaquePointer?, _ trustedlist: OpaquePointer?, _ accessRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { _ throws(Failure) in
        let summary = try unsafe string(UnsafeRawPointer(descriptor)) ?? []
        let trusted = try unsafe applications(trustedlist) ?? [ApplicationReference(.asking)]
        guard let accessRef = unsafe accessRef else { throw argumentsBad }
        unsafe accessRef.pointee = .retained(AccessReference(trusted, summary))
    }
}

@c
public func SecAccessCopyACLList(
    _ accessRef: OpaquePointer?, _ aclList: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { _ throws(Failure) in
        let entries = try unsafe access(accessRef).entries
        guard let aclList = unsafe aclList else { throw argumentsBad }
        unsafe aclList.pointee = .retained(ArrayReference(entries))
    }
}

@c
public func SecAccessCopyMatchingACLList(
    _ accessRef: OpaquePointer?, _ authorizationTag: UnsafeRawPointer?
) -> OpaquePointer? {
    var found: ArrayReference?
    _ = perform { _ throws(Failure) in
        let wanted = try unsafe Authorizations.bit(ofTag: authorizationTag)
        let entries = try unsafe access(accessRef).entries.filter { $0.authorizations & wanted != 0 }
        if !entries.isEmpty { found = ArrayReference(entries) }
    }
    return unsafe found.map { found in unsafe .retained(found) }
}

// MARK: - Entries

@c
public func SecACLCreateWithSimpleContents(
    _ accessRef: OpaquePointer?, _ applicationList: OpaquePointer?, _ description: OpaquePointer?,
    _ promptSelector: UInt16, _ newAcl: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { _ throws(Failure) in
        let access = try unsafe access(accessRef)
        let trusted = try unsafe contents(applicationList, promptSelector)
        let summary = try unsafe string(UnsafeRawPointer(description)) ?? []
        guard let newAcl = unsafe newAcl else { throw argumentsBad }
        let entry = ACLReference(trusted, summary, Authorizations.any)
        access.add(entry)
        unsafe newAcl.pointee = .retained(entry)
    }
}

@c
public func SecACLRemove(_ aclRef: OpaquePointer?) -> OSStatus {
    perform { _ throws(Failure) in
        let removed = try unsafe entry(aclRef)
        guard !removed.isOwner else {
            throw Failure(errSecInvalidOwnerEdit, "an access needs the entry for those who change it")
        }
        removed.isPresent = false
    }
}

@c
public func SecACLCopyContents(
    _ acl: OpaquePointer?, _ applicationList: UnsafeMutablePointer<OpaquePointer?>?,
    _ description: UnsafeMutablePointer<OpaquePointer?>?, _ promptSelector: UnsafeMutablePointer<UInt16>?
) -> OSStatus {
    perform { _ throws(Failure) in
        let entry = try unsafe entry(acl)
        let summary = try StringReference(entry.summary)
        if let list = unsafe applicationList {
            unsafe list.pointee = nil
            if let applications = entry.applications { unsafe list.pointee = .retained(ArrayReference(applications)) }
        }
        unsafe description?.pointee = .retained(summary)
        unsafe promptSelector?.pointee = 0
    }
}

@c
public func SecACLSetContents(
    _ acl: OpaquePointer?, _ applicationList: OpaquePointer?, _ description: OpaquePointer?, _ promptSelector: UInt16
) -> OSStatus {
    perform { _ throws(Failure) in
        let entry = try unsafe entry(acl)
        let trusted = try unsafe contents(applicationList, promptSelector)
        let summary = try unsafe string(UnsafeRawPointer(description))
        entry.applications = trusted
        entry.summary = summary ?? []
    }
}

/// The programs of an entry; nil for any.
///
/// - Throws: `errSecParam` for a question of another kind, which would be less than the caller counts on.
private func contents(
    _ applicationList: OpaquePointer?, _ promptSelector: UInt16
) throws(Failure) -> [ApplicationReference]? {
    guard promptSelector == 0 else { throw Failure(errSecParam, "there is one kind of question (pass 0)") }
    return try unsafe applications(applicationList)
}

@c
public func SecACLCopyAuthorizations(_ acl: OpaquePointer?) -> OpaquePointer? {
    var tags: ArrayReference?
    _ = perform { _ throws(Failure) in
        tags = try unsafe Authorizations.tags(entry(acl).authorizations)
    }
    return unsafe tags.map { tags in unsafe .retained(tags) }
}

@c
public func SecACLUpdateAuthorizations(_ acl: OpaquePointer?, _ authorizations: OpaquePointer?) -> OSStatus {
    perform { _ throws(Failure) in
        let entry = try unsafe entry(acl)
        guard let tags = unsafe array(authorizations) else { throw argumentsBad }
        var bits: UInt32 = 0
        for index in unsafe tags.values.indices { bits |= try unsafe Authorizations.bit(ofTag: tags.values[index]) }
        guard !entry.isOwner || bits & Authorizations.owner != 0 else {
            throw Failure(errSecInvalidOwnerEdit, "an access needs the entry for those who change it")
        }
        entry.authorizations = bits
    }
}

// MARK: - Items

@c
public func SecKeychainItemCopyAccess(
    _ itemRef: OpaquePointer?, _ accessRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { context throws(Failure) in
        let call = try KeychainCall(.access, item: unsafe item(itemRef))
        guard let accessRef = unsafe accessRef else { throw argumentsBad }
        let programs = try Reply.ask(call, &context).answer.programs ?? []
        let isOpen = programs.contains(.any)
        let trusted = isOpen ? nil : programs.map { ApplicationReference($0) }
        unsafe accessRef.pointee = .retained(AccessReference(trusted, []))
    }
}

@c
public func SecKeychainItemSetAccess(_ itemRef: OpaquePointer?, _ accessRef: OpaquePointer?) -> OSStatus {
    perform { context throws(Failure) in
        var call = try KeychainCall(.setAccess, item: unsafe item(itemRef))
        call.access = try unsafe access(accessRef).readers
        try call.perform(&context)
    }
}
