internal import Synchronization
public import TokenKit

/// A PIV card made of software.
///
/// It answers command APDUs as a card of its ``profile`` would: an answer depends only on the state and the command. Several
/// threads may send commands, which are executed one at a time. Its content is in memory, or in a file that is replaced
/// before a command that changes it is answered.
public final class VirtualCard: Sendable {
    private struct Machine {
        var transceiver: CardTransceiver
        var applet: PIVApplet

        mutating func reset() {
            transceiver.reset()
            applet.reset()
        }
    }

    /// The default device serial number.
    public static let defaultSerialNumber: UInt32 = 7_654_321

    public let profile: CardProfile
    let clock: any CardClock
    private let sensor: TouchSensor
    private let machine: Mutex<Machine>
    private let file: CardFile?

    init(profile: CardProfile, contents: CardContents, file: CardFile? = nil, clock: any CardClock = SystemClock()) {
        let sensor = TouchSensor(clock: clock)
        self.profile = profile
        self.clock = clock
        self.sensor = sensor
        self.file = file
        machine = Mutex(
            Machine(
                transceiver: CardTransceiver(profile: profile),
                applet: PIVApplet(profile: profile, contents: contents, clock: clock, sensor: sensor)))
    }

    /// A card as its maker ships it: PIN 123456, PUK 12345678, the usual management key, no certificate.
    ///
    /// - Throws: ``VirtualCardError`` `.unsupported` where its attestation key cannot be made.
    public convenience init(
        profile: CardProfile = .generic, serialNumber: UInt32 = defaultSerialNumber,
        clock: any CardClock = SystemClock()
    ) throws(VirtualCardError) {
        let contents = try CardContents.manufactured(profile, serialNumber: serialNumber)
        self.init(profile: profile, contents: contents, clock: clock)
    }

    /// The card in a file, which is updated with each change.
    ///
    /// - Throws: ``VirtualCardError`` `.unreadable`, `.corrupt` or `.unknownProfile`.
    public convenience init(file path: String, clock: any CardClock = SystemClock()) throws(VirtualCardError) {
        let file = CardFile(path: path)
        let (profile, contents) = try file.load()
        self.init(profile: profile, contents: contents, file: file, clock: clock)
    }

    /// Writes a copy of the card to a file. Later changes are not written there.
    ///
    /// - Throws: ``VirtualCardError`` `.unwritable`.
    public func save(to path: String) throws(VirtualCardError) {
        try CardFile(path: path).save(contents, of: profile)
    }

    /// The answer to reset.
    public var atr: ATR { ATR(profile.atr) }

    /// Answers one command APDU, even a malformed one, with data and status word.
    public func process(_ command: [UInt8]) -> [UInt8] {
        machine.withLock { machine in
            let before = machine.applet.contents
            let response = machine.transceiver.process(command, by: &machine.applet)
            guard let file, machine.applet.contents != before else { return response.encoded() }
            do {
                try file.save(machine.applet.contents, of: profile)
                return response.encoded()
            } catch {
                // A change that cannot be written is undone.
                machine.applet.contents = before
                machine.reset()
                return ResponseAPDU(status: .memoryFailure).encoded()
            }
        }
    }

    /// Resets the card, as the loss of its power does: selection, PIN state and incomplete commands are gone.
    public func reset() {
        stopWaiting()
        machine.withLock { $0.reset() }
    }

    /// Touches the card, as a key with a touch policy asks for. A touch counts for 15 seconds and for one use.
    public func touch() {
        sensor.touch()
    }

    /// Ends the wait for a touch, as taking the card out does.
    func stopWaiting() {
        sensor.interrupt()
    }

    /// Whether a command waits for ``touch()``.
    public var awaitsTouch: Bool { sensor.isWaiting }

    /// Tries left of the PINs that another application of the card has, by reference.
    public var triesLeftElsewhere: [UInt8: UInt8] { machine.withLock { $0.applet.otherPINs.triesLeft } }

    /// The card's content.
    var contents: CardContents { machine.withLock { $0.applet.contents } }
}
