internal import KeychainModel
internal import Wire

extension ScryptCost: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(n)
        message.write(UInt64(r))
        message.write(UInt64(p))
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(n: try message.number(), r: try message.number32(), p: try message.number32())
    }
}

extension BoundCard: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(token)
        message.write(label)
        message.write(key)
        message.write(proof) { $1.write($0) }
        message.write(isChallenged)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            try message.value(), label: try message.text(), key: try message.text(),
            proof: try message.optionalText(), isChallenged: try message.flag())
    }
}

extension UnlockingDetails: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(hasPassword) { $1.write($0) }
        message.write(passwordCost)
        message.write(cards)
        message.write(failures)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init()
        hasPassword = try message.optional { (message) throws(WireError) in try message.flag() }
        passwordCost = try message.optional()
        cards = try message.value()
        failures = try message.value()
    }
}

extension PasswordChange: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(leftover)
        message.write(renewed)
        message.write(dropped)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(leftover: try message.optional())
        renewed = try message.value()
        dropped = try message.value()
    }
}

extension BackupCount: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(items)
        message.write(leftOut)
        message.write(damaged)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(items: try message.count(), leftOut: try message.count(), damaged: try message.count())
    }
}
