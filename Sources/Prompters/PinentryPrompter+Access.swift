public import HostAPI
public import KeychainModel
internal import Localization

extension PinentryPrompter {
    /// Asks in one window with three buttons, and once more before an answer holds for ever; in two windows where the program has no third
    /// button. A closed window and the end of the time are a denial.
    ///
    /// The button "Always allow" is that of `SETNOTOK`, since a closed window answers like `SETCANCEL`. A program that answers like
    /// `SETNOTOK` when its only other button is pressed leads to the second window, and not to a lasting decision.
    public func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision {
        let patience = ContinuousClock.now + question.patience
        let limited = limited(to: patience)
        let seconds = max(1, question.patience.components.seconds)
        let first = try limited.ask(
            question.lines, yes: question.requester == nil ? "Allow _once" : "_Allow",
            third: question.offersAlways ? PinentryPrompter.always(question) : nil, no: "_Deny", seconds)
        switch first.answer {
        case .yes where first.hasThird || !question.offersAlways: return .allowOnce
        case .yes: return try limited.confirmsAlways(question, no: "Only _once", seconds) ? .allowAlways : .allowOnce
        case .third where first.hasThird:
            return try limited.confirmsAlways(question, no: "_Deny", seconds) ? .allowAlways : .deny
        case .third, .no: return .deny
        }
    }

    private static func always(_ question: AccessQuestion) -> LocalizedText {
        question.machine == nil ? "_Always allow" : "_Always for this machine"
    }

    private enum Answer {
        case yes, third, no
    }

    private struct Outcome {
        let answer: Answer
        let hasThird: Bool
    }

    private func confirmsAlways(_ question: AccessQuestion, no: LocalizedText, _ seconds: Int64) throws(KeychainError)
        -> Bool
    {
        let lines = [question.questionOfAlways] + question.lines.dropFirst()
        return try ask(lines, yes: PinentryPrompter.always(question), third: nil, no: no, seconds).answer == .yes
    }

    /// The underscore of a button is before the letter of its key. pinentry-tty takes the first letter without one, also where two buttons
    /// have the same.
    ///
    /// - Parameter third: the third button; nil for none.
    /// - Returns: the answer, and whether a third button was offered.
    private func ask(
        _ lines: [String], yes: LocalizedText, third: LocalizedText?, no: LocalizedText, _ seconds: Int64
    ) throws(KeychainError) -> Outcome {
        do throws(KeychainError) {
            return try conversing { (assuan) throws(KeychainError) in
                try assuan.command("SETTITLE", String(localized: "Access to keys and passwords"))
                try assuan.command("SETDESC", lines: lines)
                // A program that does not know these commands has its own words for the buttons, or shows the question for longer.
                try? assuan.command("SETTIMEOUT", "\(seconds)")
                try? assuan.command("SETOK", String(localized: yes))
                try? assuan.command("SETCANCEL", String(localized: no))
                let hasThird = third.map { offers(String(localized: $0), assuan) } ?? false
                return Outcome(answer: try answer(assuan), hasThird: hasThird)
            }
        } catch {
            // The time was over before the program could ask.
            guard error.code == .userCanceled else { throw error }
            return Outcome(answer: .no, hasThird: false)
        }
    }

    private func answer(_ assuan: AssuanClient) throws(KeychainError) -> Answer {
        do throws(KeychainError) {
            try assuan.question("CONFIRM")
            return .yes
        } catch {
            guard error.code == .userCanceled else { throw error }
            return assuan.hasDeclined ? .third : .no
        }
    }

    /// Offers a third button. GNOME's program takes the command, and shows no such button.
    private func offers(_ button: String, _ assuan: AssuanClient) -> Bool {
        if let flavor = try? assuan.text("GETINFO flavor"), flavor.hasPrefix("gnome") { return false }
        return (try? assuan.command("SETNOTOK", button)) != nil
    }
}
