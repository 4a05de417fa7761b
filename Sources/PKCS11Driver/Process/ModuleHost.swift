internal import CCryptoki
internal import CryptokiNames
internal import ModuleConfiguration
internal import Platform
internal import SecureBytes
internal import Synchronization
internal import TokenKit

/// The access to a module through its worker, which is started with the first request, and again after it ended.
final class ModuleHost: Sendable {
    let module: ConfiguredModule
    private let program: WorkerProgram
    private let patience: WorkerPatience
    private let state = Mutex(State())

    private struct State {
        /// The tokens of the last listing, valid for as long as the listing took: a slow module is not asked all the time.
        var seen: (tokens: [ModuleTokenInfo], until: ContinuousClock.Instant)?
        var worker: WorkerProcess?
        /// The number of the worker's run. A new run has none of the former one's state, such as a login.
        var run = 0
        /// The number of runs in a row that ended without an answer.
        var endsInARow = 0
        /// The end of the time for which the module is left alone, and the error of calls until then.
        var rest: (end: ContinuousClock.Instant, reason: TokenError)?
        var hasEnded = false

        mutating func end() { (worker, seen, hasEnded) = (nil, nil, true) }
    }

    /// - Parameter rejectedPINs: those of an earlier host of the module.
    init(
        _ module: ConfiguredModule, program: WorkerProgram, patience: WorkerPatience,
        _ rejectedPINs: VolatileTokenMemory = VolatileTokenMemory()
    ) {
        self.module = module
        self.program = program
        self.patience = patience
        self.rejectedPINs = rejectedPINs
    }

    /// The host of the module after the end of this one. The PINs that tokens have refused stay refused.
    func renewed() -> ModuleHost { ModuleHost(module, program: program, patience: patience, rejectedPINs) }

    /// Ends the worker for good, as soon as it has answered the present request.
    func end() {
        guard state.withLockIfAvailable({ $0.end() }) == nil else { return }
        // A token may wait for a touch.
        if !BlockingThread.start({ self.state.withLock { $0.end() } }) { state.withLock { $0.end() } }
    }

    /// The PINs that tokens have refused, which are not sent again.
    ///
    /// Most modules do not tell how many tries are left, so that a refused PIN may be right by the next run: no file keeps it.
    let rejectedPINs: VolatileTokenMemory

    /// The present tokens.
    func tokens() throws(TokenError) -> (answer: [ModuleTokenInfo], run: Int) {
        if let seen = seen() { return seen }
        let start = ContinuousClock.now
        let found = try ask(.tokens) { (fields) throws(MalformedMessage) in
            try fields.values(ModuleTokenInfo.self)
        }
        state.withLock { state in
            if state.run == found.run { state.seen = (found.answer, .now + start.duration(to: .now)) }
        }
        return found
    }

    /// The token in a slot, from the last listing while that is valid.
    func recentToken(in slot: UInt64, run: Int) throws(TokenError) -> ModuleTokenInfo {
        guard let seen = seen(), seen.run == run, let token = seen.answer.first(where: { $0.slot == slot }) else {
            return try token(in: slot, run: run)
        }
        return token
    }

    private func seen() -> (answer: [ModuleTokenInfo], run: Int)? {
        state.withLock { state in
            guard state.worker != nil, let seen = state.seen, seen.until > .now else { return nil }
            return (seen.tokens, state.run)
        }
    }

    /// The module's answer.
    ///
    /// - Parameters:
    ///   - run: the expected run of the worker; nil for any, also a new one.
    ///   - pin: empty for none.
    /// - Returns: the answer, and which run of the worker gave it.
    /// - Throws: ``TokenError`` as the module's code means it; `.card(.communication)` where the worker ended or did not
    ///   answer in time, and is started anew with the next call or after a rest; `.card(.removed)` where another run is under way.
    func ask<Answer: Sendable>(
        _ request: ModuleRequest, in run: Int? = nil, _ pin: borrowing Secret = Secret(capacity: 0) { _ in },
        _ parse: (inout FieldReader) throws(MalformedMessage) -> Answer
    ) throws(TokenError) -> (answer: Answer, run: Int) {
        let reply = try reply(to: request, in: run, pin, parse)
        return (reply.answer, reply.run)
    }

    /// Has the module use a key, and post-processes the result as the mechanism requires.
    ///
    /// - Parameter isTyped: whether the token is to ask for the PIN itself.
    func perform(
        _ use: ModuleKeyUse, slot: UInt64, in run: Int, _ pin: borrowing Secret = Secret(capacity: 0) { _ in },
        isTyped: Bool = false
    ) throws(TokenError) -> Secret {
        let reply = try reply(to: .perform(slot: slot, use.request, isTyped: isTyped), in: run, pin) {
            (fields) throws(MalformedMessage) in
            let index = Int(try fields.byte())
            guard use.request.candidateMechanisms.indices.contains(index) else { throw MalformedMessage() }
            return index
        }
        let mechanism = use.request.candidateMechanisms[reply.answer]
        return try use.finish(reply.takeMade(), mechanism)
    }

    private struct Reply<Answer: Sendable>: ~Copyable {
        let answer: Answer
        let run: Int
        let made: Secret

        consuming func takeMade() -> Secret { made }
    }

    private func reply<Answer: Sendable>(
        to request: ModuleRequest, in run: Int?, _ pin: borrowing Secret,
        _ parse: (inout FieldReader) throws(MalformedMessage) -> Answer
    ) throws(TokenError) -> Reply<Answer> {
        try state.withLock { (state) throws(TokenError) in
            if let run, run != state.run || state.worker == nil { throw ModuleHost.anotherRun }
            let worker = try started(&state)
            let message: Message
            do throws(MessageSocket.Failure) {
                message = try worker.ask(request, pin, by: .now + limit(of: request))
            } catch {
                throw ended(worker, error, &state)
            }
            var fields = FieldReader(message.fields)
            let failure: ModuleFailure?
            let answer: Answer?
            do throws(MalformedMessage) {
                let isFailure = try fields.byte() != 0
                failure = isFailure ? try ModuleFailure(from: &fields) : nil
                answer = isFailure ? nil : try parse(&fields)
                try fields.finish()
            } catch {
                throw ended(worker, .malformed, &state)
            }
            state.endsInARow = 0
            if let failure { throw TokenError(failure, of: module.name) }
            guard let answer else { throw ended(worker, .malformed, &state) }
            return Reply(answer: answer, run: state.run, made: message.takeSecret())
        }
    }

    private func limit(of request: ModuleRequest) -> Duration {
        switch request {
        case .tokens, .token, .objects, .logOut: patience.listing
        case .logIn, .perform: patience.use
        }
    }

    private func started(_ state: inout State) throws(TokenError) -> WorkerProcess {
        if let worker = state.worker { return worker }
        if state.hasEnded { throw TokenError(.card(.removed), "the module '\(module.name)' was removed") }
        if let rest = state.rest {
            guard rest.end < .now else { throw rest.reason }
            (state.rest, state.endsInARow) = (nil, 0)
        }
        do throws(ModuleFailure) {
            let worker = try WorkerProcess(program, module: module.place)
            state.worker = worker
            state.run += 1
            return worker
        } catch {
            throw TokenError(error, of: module.name)
        }
    }

    private func ended(
        _ worker: WorkerProcess, _ failure: MessageSocket.Failure, _ state: inout State
    ) -> TokenError {
        let end = failure == .late ? "" : worker.reasonOfEnd()
        (state.worker, state.seen) = (nil, nil)
        state.endsInARow += 1
        let reason: LocalizedText =
            switch failure {
            case .late: "did not answer in time and was ended"
            case .malformed: "sent malformed data and was ended"
            case .ended: end.isEmpty ? "ended" : "ended: \(end)"
            }
        let error = TokenError(
            .card(.communication),
            "the PKCS#11 module '\(module.name)' \(reason) (see whether another program can use it: \(module.test))"
        )
        // A module that gave no answer rests, so that repeated calls do not each wait for it.
        if failure == .late || state.endsInARow >= ModuleHost.mostEnds { state.rest = (.now + patience.rest, error) }
        return error
    }

    private static let mostEnds = 3

    static let anotherRun = TokenError(
        .card(.removed), "the module of the token has ended since the token was listed (list it again)")
}

extension TokenError {
    /// The error of a module's return value. PKCS #11 3.0 §5.1.
    init(_ failure: ModuleFailure, of module: String) {
        let text = "'\(module)': \(failure.what)"
        guard failure.code != 0 else {
            self.init(.card(.communication), "the PKCS#11 module '\(module)' cannot be used: \(failure.what)")
            return
        }
        switch CK_RV(failure.code) {
        case CKR_USER_NOT_LOGGED_IN: self.init(.pinRequired, "the token wants its PIN first")
        case CKR_PIN_INCORRECT: self.init(.pinIncorrect, "the token refused the PIN")
        case CKR_PIN_LOCKED: self = .blocked
        case CKR_PIN_EXPIRED:
            self.init(.notAuthorized, "the PIN has expired (change it with the token's own tool)")
        case CKR_PIN_LEN_RANGE, CKR_PIN_INVALID: self.init(.pinFormat, "the token takes no PIN of that form")
        case CKR_TOKEN_NOT_PRESENT, CKR_SLOT_ID_INVALID, CKR_TOKEN_NOT_RECOGNIZED:
            self.init(.card(.noCard), "there is no token in its slot any more")
        case CKR_DEVICE_REMOVED, CKR_SESSION_HANDLE_INVALID, CKR_SESSION_CLOSED:
            self.init(.card(.removed), "the token was taken out (put it back and ask again)")
        case CKR_KEY_HANDLE_INVALID: self.init(.notFound, "the token has no such private key")
        case CKR_MECHANISM_INVALID, CKR_MECHANISM_PARAM_INVALID, CKR_KEY_TYPE_INCONSISTENT,
            CKR_KEY_FUNCTION_NOT_PERMITTED, CKR_FUNCTION_NOT_SUPPORTED, CKR_ARGUMENTS_BAD:
            self.init(.unsupported, "the token cannot do this with the key (\(text): \(failure.codeText))")
        case CKR_DATA_LEN_RANGE, CKR_DATA_INVALID, CKR_ENCRYPTED_DATA_INVALID, CKR_ENCRYPTED_DATA_LEN_RANGE:
            self.init(.invalidArgument, "the token does not take the input (\(text): \(failure.codeText))")
        case CKR_FUNCTION_CANCELED: self.init(.conditionsNotSatisfied, "the operation was cancelled at the token")
        default: self.init(.malformed, "the PKCS#11 module \(text) failed with \(failure.codeText)")
        }
    }

    static let blocked = TokenError(
        .pinBlocked, "the PIN is blocked (unblock it with the token's own tool)", triesLeft: 0)
}

extension ModuleFailure {
    fileprivate var codeText: String { CryptokiReturnValue.name(of: UInt(code)) }
}
