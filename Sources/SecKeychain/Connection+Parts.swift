internal import CThinClient

// Messages whose fields are longer than a frame: attributes may be, and so may the items that a search finds.
extension Connection {
    /// Sends a request with a password that the program's own memory holds.
    ///
    /// - Returns: the number of the request.
    func send(
        inParts call: [UInt8], _ password: borrowing Secrets, _ deadline: Deadline
    ) throws(Failure) -> UInt32 {
        guard call.count <= KeychainAnswer.maximumFields else {
            throw Failure(Client.tooLong, "the arguments are longer than the host takes")
        }
        // The frames of a message have the number that the last one gets.
        let number = unsafe fields.pointee.request &+ 1
        var rest = call[...]
        while rest.count > FrameHeader.maximumFields {
            let part = [UInt8](rest.prefix(FrameHeader.maximumFields))
            try send(.part, number, part, Secrets(), deadline)
            rest = rest.dropFirst(part.count)
        }
        return try send([UInt8](rest), password, deadline)
    }

    /// Waits for the answer to a request.
    ///
    /// - Parameter deadline: until when the host has to say something; afterwards, until when the password has to follow.
    func receive(
        inParts number: UInt32, _ deadline: inout Deadline
    ) throws(Failure) -> (fields: [UInt8], secretCount: Int) {
        var answer: [UInt8] = []
        while true {
            let (kind, fields, secretCount) = try receive(number, &deadline)
            let isPart = kind == .part && !fields.isEmpty && secretCount == 0
            guard isPart || kind == .answer, fields.count <= KeychainAnswer.maximumFields - answer.count else {
                throw Failure(Client.hostFailed, "the host sent something else")
            }
            answer += fields
            if !isPart { return (answer, secretCount) }
        }
    }
}
