internal import Localization

/// The drivers whose cards are left alone: a name a line.
package struct DisabledDrivers: SettingsText {
    /// The lines, each with the name on it, if there is one.
    private var lines: [(text: String, name: String?)] = []

    package init() {}

    package init(reading text: String, faults: inout [SettingsFault]) {
        for line in SettingsLine.lines(of: text, faults: &faults) {
            guard let words = SettingsLine.words(of: line.content), words.count < 2 else {
                faults.append(line.fault("is not the name of one driver"))
                continue
            }
            lines.append((line.text, words.first))
        }
    }

    package var names: Set<String> { Set(lines.compactMap(\.name)) }

    /// The names in the order of their lines, each with the number of its line.
    package var namedLines: [(line: Int, name: String)] {
        lines.enumerated().compactMap { index, line in line.name.map { (index + 1, $0) } }
    }

    package mutating func insert(_ name: String) {
        if !names.contains(name) { lines.append((name, name)) }
    }

    package mutating func remove(_ name: String) { lines.removeAll { $0.name == name } }

    package var text: String { lines.map { $0.text + "\n" }.joined() }
}
