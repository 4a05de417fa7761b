internal import CCryptoki
internal import CLinux
internal import Glibc
internal import Platform
internal import SecureBytes
internal import SystemCrypto

/// The process that a foreign module runs in. It reads a request, calls the module and writes the answer.
///
/// p11-kit's own facility for that, its server and `remote:` modules, cannot replace it. Release 0.24 carries neither ECDH nor
/// EdDSA, and has no time limits; and its client takes the server's address from an environment variable of the whole process.
/// Modules that are configured as `remote:` are reached through p11-kit, from this process.
///
///     request:  kind · slot · …           beside it a PIN
///     answer:   0 · …  or  1 · failure    beside it what a key made
public enum ModuleWorker {
    /// The descriptor of the worker's socket.
    static let descriptor: Int32 = 3

    /// Serves until the host closes the socket.
    ///
    /// - Parameters:
    ///   - place: the module's file, or its name in p11-kit.
    ///   - program: the name in p11-kit's configuration of the program that uses the module.
    public static func run(_ place: String, for program: String) {
        // Afterwards the kernel takes no more settings of this process from it.
        becomeExpendable()
        Hardening.begin()
        // Children of the module do not inherit the socket.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        endWithHost()
        let socket = MessageSocket(descriptor: descriptor)
        let module: Result<LoadedModule, ModuleFailure>
        do throws(ModuleFailure) { module = .success(try LoadedModule(place, for: program)) } catch {
            module = .failure(error)
        }
        do throws(MessageSocket.Failure) {
            while true { try answer(module, on: socket) }
        } catch {
            if case .success(let module) = module { module.finalize() }
        }
    }

    private static func answer(
        _ module: Result<LoadedModule, ModuleFailure>, on socket: MessageSocket
    ) throws(MessageSocket.Failure) {
        let message = try socket.receive(by: nil)
        var fields = FieldWriter()
        var made: Secret?
        do throws(ModuleFailure) {
            var content = FieldWriter()
            content.write(UInt8(0))
            made = try perform(message, with: try module.get(), &content)
            fields = content
        } catch {
            fields.write(UInt8(1))
            error.write(to: &fields)
        }
        try socket.send(fields.bytes, made.take() ?? Secret(capacity: 0) { _ in }, by: nil)
    }

    private static func perform(
        _ message: borrowing Message, with module: LoadedModule, _ answer: inout FieldWriter
    ) throws(ModuleFailure) -> Secret? {
        switch try request(message.fields) {
        case .tokens: answer.write(try module.tokens())
        case .token(let slot): try module.token(in: CK_SLOT_ID(slot)).write(to: &answer)
        case .objects(let slot):
            answer.write(
                try module.withSession(CK_SLOT_ID(slot)) { (session) throws(ModuleFailure) in
                    try module.objects(in: session)
                })
        case .logIn(let slot):
            try module.withSession(CK_SLOT_ID(slot)) { (session) throws(ModuleFailure) in
                try module.logIn(session, CK_USER_TYPE(CKU_USER), message.secret)
            }
        case .logOut(let slot): try module.logOut(CK_SLOT_ID(slot))
        case .perform(let slot, let use, let isTyped):
            let index = module.indexOfCandidate(for: use, slot: CK_SLOT_ID(slot))
            answer.write(UInt8(index))
            return try module.withSession(CK_SLOT_ID(slot)) { (session) throws(ModuleFailure) in
                try module.perform(
                    use, use.candidateMechanisms[index], message.secret, isTyped: isTyped, in: session)
            }
        }
        return nil
    }

    private static func request(_ fields: [UInt8]) throws(ModuleFailure) -> ModuleRequest {
        var reader = FieldReader(fields)
        do throws(MalformedMessage) {
            let request = try ModuleRequest(from: &reader)
            try reader.finish()
            return request
        } catch {
            throw ModuleFailure(code: 0, what: "the request cannot be read")
        }
    }

    /// Has the kernel kill this process before any other when memory runs out. proc(5)
    private static func becomeExpendable() {
        let file = unsafe open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = unsafe write(file, "1000", 4)
        close(file)
    }

    /// Ends the process and the children of the module shortly after the host's end, even while the module does not
    /// return.
    private static func endWithHost() {
        BlockingThread.start {
            var watched = pollfd(fd: descriptor, events: clinux_hangup, revents: 0)
            while unsafe poll(&watched, 1, -1) <= 0 {}
            sleep(2)
            if getpgrp() == getpid() { kill(0, SIGKILL) }
            _exit(0)
        }
    }
}

extension LoadedModule {
    /// Certificates and keys, in the module's order.
    func objects(in session: CK_SESSION_HANDLE) throws(ModuleFailure) -> [ModuleObject] {
        var objects: [ModuleObject] = []
        for objectClass in [CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY] {
            for handle in try find(objectClass, in: session) {
                if let object = object(objectClass, handle, session) { objects.append(object) }
            }
        }
        return objects
    }

    private func object(
        _ objectClass: CK_OBJECT_CLASS, _ handle: CK_OBJECT_HANDLE, _ session: CK_SESSION_HANDLE
    ) -> ModuleObject? {
        func value(_ type: CK_ATTRIBUTE_TYPE) -> [UInt8] { self.value(type, of: handle, in: session) ?? [] }
        func number(_ type: CK_ATTRIBUTE_TYPE) -> UInt64? {
            CK_ULONG(nativeBytes: value(type)).map { UInt64($0) }
        }
        func isSet(_ type: CK_ATTRIBUTE_TYPE) -> Bool { value(type).first.map { $0 != 0 } ?? false }

        var object = ModuleObject(objectClass: UInt64(objectClass))
        object.id = value(CKA_ID)
        object.label = value(CKA_LABEL)
        guard objectClass != CKO_CERTIFICATE else {
            guard number(CKA_CERTIFICATE_TYPE) ?? UInt64(CKC_X_509) == UInt64(CKC_X_509) else { return nil }
            object.value = value(CKA_VALUE)
            return object.value.isEmpty ? nil : object
        }
        guard let keyType = number(CKA_KEY_TYPE) else { return nil }
        object.keyType = keyType
        object.publicKeyInfo = value(CKA_PUBLIC_KEY_INFO)
        if keyType == UInt64(CKK_RSA) {
            object.modulus = value(CKA_MODULUS)
            object.exponent = value(CKA_PUBLIC_EXPONENT)
        } else {
            object.parameters = value(CKA_EC_PARAMS)
            if objectClass == CKO_PUBLIC_KEY { object.point = value(CKA_EC_POINT) }
        }
        guard objectClass == CKO_PRIVATE_KEY else { return object }
        if isSet(CKA_SIGN) { object.uses.insert(.sign) }
        if isSet(CKA_DECRYPT) { object.uses.insert(.decrypt) }
        if isSet(CKA_DERIVE) { object.uses.insert(.derive) }
        if isSet(CKA_ALWAYS_AUTHENTICATE) { object.uses.insert(.alwaysAuthenticate) }
        return object
    }

    /// Uses a key, after presenting the PIN, or letting the token ask for it.
    ///
    /// - Throws: `CKR_USER_NOT_LOGGED_IN` also for a key that is visible only after a login.
    func perform(
        _ use: KeyUse, _ candidate: KeyMechanism, _ pin: borrowing Secret, isTyped: Bool, in session: CK_SESSION_HANDLE
    ) throws(ModuleFailure) -> Secret {
        var found = try key(for: use, in: session)
        let hasPIN = isTyped || !pin.isEmpty
        let isAlways = found.map { value(CKA_ALWAYS_AUTHENTICATE, of: $0, in: session)?.first == 1 } ?? false
        if hasPIN && !(isAlways && isLoggedIn(session)) {
            try logIn(session, CK_USER_TYPE(CKU_USER), pin)
            found = try key(for: use, in: session)
        }
        guard let key = found else {
            let code = isLoggedIn(session) ? CKR_KEY_HANDLE_INVALID : CKR_USER_NOT_LOGGED_IN
            throw ModuleFailure(code: UInt64(code), what: "C_FindObjects")
        }
        guard use.kind != .derive else { return try derive(use, candidate, key, in: session) }
        let wantsPIN = value(CKA_ALWAYS_AUTHENTICATE, of: key, in: session)?.first == 1
        guard wantsPIN else { return try transform(use, candidate, key, in: session, confirming: nil) }
        guard hasPIN else { throw ModuleFailure(code: UInt64(CKR_USER_NOT_LOGGED_IN), what: "the key") }
        return try transform(use, candidate, key, in: session, confirming: pin.clone())
    }

    /// The private key that a request means. Of several keys that match by id and public key, it is the one with the same label.
    private func key(for use: KeyUse, in session: CK_SESSION_HANDLE) throws(ModuleFailure) -> CK_OBJECT_HANDLE? {
        let publicKey = try? PublicKey(spki: use.publicKey)
        let handles = try find(CKO_PRIVATE_KEY, id: use.id, label: use.id.isEmpty ? use.label : [], in: session)
        let fitting = handles.compactMap { handle in
            object(CKO_PRIVATE_KEY, handle, session).map { (handle: handle, object: $0) }
        }.filter { $0.object.id == use.id && publicKey.map($0.object.fits) ?? true }
        return (fitting.first { $0.object.label == use.label } ?? fitting.first)?.handle
    }
}
