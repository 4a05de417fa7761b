internal import SecureBytes
internal import TokenKit

/// The PIV card application: whole commands in, whole answers out.
///
/// SP 800-73-5 part 2 §3. ``CardTransceiver`` joins chained commands and splits answers.
struct PIVApplet: Sendable {
    let profile: CardProfile
    let clock: any CardClock
    let sensor: TouchSensor
    var contents: CardContents
    var session = CardSession()
    var otherPINs = OtherPINs()

    init(profile: CardProfile, contents: CardContents, clock: any CardClock, sensor: TouchSensor) {
        self.profile = profile
        self.clock = clock
        self.sensor = sensor
        self.contents = contents
        reset()
    }

    /// Clears the state that a card loses with its power.
    mutating func reset() {
        session = CardSession()
        if profile.has(.implicitlySelected) { session.application = .piv }
    }

    mutating func answer(to command: CommandAPDU) -> ResponseAPDU {
        do {
            return try perform(command)
        } catch {
            return ResponseAPDU(status: error.status)
        }
    }

    private mutating func perform(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        guard command.cla & 0x0C == 0 else { throw Refusal(.secureMessagingNotSupported) }
        guard command.cla == 0 else { throw Refusal(.classNotSupported) }
        if session.application == .oneTimePassword, command.ins != Instruction.select.rawValue {
            return try answerAsOneTimePassword(command)
        }
        guard let instruction = Instruction(rawValue: command.ins) else { throw Refusal(.instructionNotSupported) }
        defer { spendPIN(after: instruction) }
        if instruction == .select { return try select(command) }
        guard session.application == .piv, profile.knows(instruction) else { throw Refusal(.instructionNotSupported) }
        return try perform(instruction, command)
    }

    private mutating func perform(
        _ instruction: Instruction, _ command: CommandAPDU
    ) throws(Refusal) -> ResponseAPDU {
        switch instruction {
        case .getData: return try getData(command)
        case .putData: return try putData(command)
        case .verify: return try verify(command)
        case .changeReferenceData: return try changeReferenceData(command)
        case .resetRetryCounter: return try resetRetryCounter(command)
        case .generalAuthenticate: return try generalAuthenticate(command)
        case .generateKeyPair: return try generateKeyPair(command)
        case .moveKey: return try moveKey(command)
        case .metadata: return try metadata(command)
        case .serialNumber: return serialNumber()
        case .attest: return try attest(command)
        case .setRetries: return try setRetries(command)
        case .reset: return try resetApplication()
        case .version: return version()
        case .importKey: return try importKey(command)
        case .setManagementKey: return try setManagementKey(command)
        case .select, .getResponse: throw Refusal(.instructionNotSupported)
        }
    }

    /// Ends the validity of the PIN for "PIN always" keys: after a private-key operation, on some cards after any command.
    private mutating func spendPIN(after instruction: Instruction) {
        guard instruction != .verify else { return }
        if instruction == .generalAuthenticate || profile.has(.anyCommandSpendsPIN) { session.pinIsFresh = false }
    }
}

extension PIVApplet {
    /// Requires an authentication with the management key.
    func requireManagement() throws(Refusal) {
        guard session.isManagementAuthenticated else { throw Refusal(.securityStatusNotSatisfied) }
    }

    /// Waits for a touch where the policy wants one.
    mutating func requireTouch(_ policy: CardKey.TouchPolicy) throws(Refusal) {
        if policy == .never { return }
        if policy == .cached, let touched = session.cachedTouch, clock.now - touched < TouchSensor.patience { return }
        guard sensor.awaitTouch() else {
            throw Refusal(profile.has(.touchTimeoutIs6985) ? .conditionsNotSatisfied : .securityStatusNotSatisfied)
        }
        if policy == .cached { session.cachedTouch = clock.now }
    }
}

extension ResponseAPDU {
    /// An answer of success.
    static func success(_ data: [UInt8] = []) -> ResponseAPDU {
        ResponseAPDU(data: data, status: .success)
    }
}

/// Turns an error of parsing a command's data into its status word.
func parsing<Value>(_ body: () throws(TLVError) -> Value) throws(Refusal) -> Value {
    do { return try body() } catch { throw Refusal(.incorrectData) }
}
