internal import CCryptoki
internal import CPKCS11Module
internal import CThinClient

typealias ResultCode = CK_RV

/// The module as a client of the host: what the sources in ThinClient do not know of it.
enum Client {
    static let logName: StaticString = "tokenkit-pkcs11["
    /// Between the name of a function and its result.
    static let nameEnd: StaticString = " "

    static let hostFailed = CKR_DEVICE_ERROR
    static let noDescriptor = CKR_DEVICE_ERROR
    static let tooLong = CKR_HOST_MEMORY
    static let notInitialised = CKR_CRYPTOKI_NOT_INITIALIZED

    static let helloKind = FrameHeader.Kind.hello
    /// Whether the host may be one on another machine, which ssh forwards.
    static let usesRemoteHost = true
    static let version = Hello.version

    static func hello(firstHandle: UInt64, environment: [[UInt8]]) -> [UInt8] {
        let path = unsafe tokenkit_module_path().map { unsafe [UInt8](text: $0) } ?? []
        return Hello(
            firstHandle: firstHandle, wantsNotes: unsafe Log.path != nil, libraryPath: path, environment: environment
        ).encoded()
    }

    /// - Throws: ``HostNeed/isMissing``.
    static func requireNeed() throws(Failure) {
        guard HostNeed.isThere else { throw HostNeed.isMissing }
    }

    /// Whether a host may be started that lies beside the module: who can replace it can replace the module.
    static func trusts(_ path: UnsafePointer<CChar>) -> Bool { true }

    /// Whether a call fails that finds the host gone. The next host answers here, since it knows none of the former handles.
    static let reportsLostHost = false

    // MARK: Attributes that a connection keeps

    static func attributes(of connection: Connection) -> UnsafeMutablePointer<tokenkit_attributes> {
        unsafe attributes(connection.index)
    }

    static func connectionHasClosed(_ index: Int32) { unsafe attributes(index).pointee.forget() }

    /// Drops the state of a parent process. The attributes are not freed: a thread of the parent may have freed them already when it
    /// forked.
    static func forget() {
        for index in 0..<Int32(tokenkit_connection_count) { unsafe attributes(index).pointee = tokenkit_attributes() }
        BegunSignature.forget()
    }

    private static func attributes(_ index: Int32) -> UnsafeMutablePointer<tokenkit_attributes> {
        unsafe tokenkit_attributes_of(index).unsafelyUnwrapped
    }
}
