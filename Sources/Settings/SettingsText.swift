package import KeychainModel
internal import Localization

/// The content of a settings file that is only read.
package protocol ReadSettings {
    /// Reads what the lines say. Where there is a fault, nothing of the file counts.
    init(reading text: String, faults: inout [SettingsFault])
}

extension ReadSettings {
    /// - Parameter path: where the text is from, for the error.
    /// - Throws: `errSecDecode`, naming the first line with a fault.
    package init(parsing text: String, of path: String) throws(KeychainError) {
        var faults: [SettingsFault] = []
        self.init(reading: text, faults: &faults)
        guard let fault = faults.min(by: { $0.line < $1.line }) else { return }
        throw KeychainError(.decode, "line \(fault.line) of \(path) \(fault.reason)", remedy: "\(fault.remedy)")
    }

    /// The lines that make a file with the text not count.
    package static func faults(in text: String) -> [SettingsFault] {
        var faults: [SettingsFault] = []
        _ = Self(reading: text, faults: &faults)
        return faults.sorted { $0.line < $1.line }
    }
}

/// The content of a settings file that is changed as well.
package protocol SettingsText: ReadSettings {
    /// The content of a new file.
    init()

    /// The text to write.
    var text: String { get }
}
