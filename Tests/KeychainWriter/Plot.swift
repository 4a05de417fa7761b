import Glibc
import KeychainHost
import KeychainModel
import Localization

/// Time over number of items, both in powers of ten, as an SVG.
struct Plot {
    let measurements: [SearchBenchmark.Measurement]
    let sizes: [Int]

    private static let (width, height, margin) = (640.0, 420.0, 60.0)
    private static let colours = ["#0b6e99", "#c0392b", "#2e8b57", "#8e44ad"]
    /// The times at the lower and the upper edge, as powers of ten of microseconds.
    private static let (fastest, slowest) = (0.0, 7.0)

    func write(to path: String) throws {
        guard let file = fopen(path, "w") else { throw KeychainError(.io, "\(path) cannot be written") }
        defer { fclose(file) }
        fputs(svg, file)
    }

    private var svg: String {
        var lines = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Int(Self.width))" height="\(Int(Self.height))" \
            font-family="sans-serif" font-size="12">
            """, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
        ]
        for power in Int(Self.fastest)...Int(Self.slowest) {
            let height = y(Self.power(power))
            lines.append(
                "<line x1=\"\(Self.margin)\" y1=\"\(height)\" x2=\"\(Self.width - 20)\" y2=\"\(height)\" stroke=\"#ddd\"/>"
            )
            lines.append(text(Self.margin - 8, height + 4, Self.label(power), anchor: "end"))
        }
        for size in sizes { lines.append(text(x(size), Self.height - Self.margin + 20, "\(size)", anchor: "middle")) }
        lines.append(text(Self.width / 2, Self.height - 14, "items in the keychain", anchor: "middle"))
        for (index, name) in names.enumerated() {
            let colour = Self.colours[index % Self.colours.count]
            lines.append(path(name, colour, dash: "", \.microseconds))
            lines.append(path(name, colour, dash: "4 3", \.plain))
            lines.append(text(Self.margin + 8, 20 + 16 * Double(index), name, anchor: "start", colour: colour))
        }
        lines.append(text(Self.margin + 8, 20 + 16 * Double(names.count), "dashed: prepared SELECT", anchor: "start"))
        return (lines + ["</svg>", ""]).joined(separator: "\n")
    }

    private var names: [String] {
        measurements.reduce(into: []) { if !$0.contains($1.search) { $0.append($1.search) } }
    }

    private func path(
        _ name: String, _ colour: String, dash: String, _ value: KeyPath<SearchBenchmark.Measurement, Double>
    ) -> String {
        let points = measurements.filter { $0.search == name }.map { "\(x($0.size)),\(y($0[keyPath: value]))" }
        return """
            <polyline points="\(points.joined(separator: " "))" fill="none" stroke="\(colour)" stroke-width="2" \
            stroke-dasharray="\(dash)"/>
            """
    }

    private func text(_ x: Double, _ y: Double, _ text: String, anchor: String, colour: String = "#333") -> String {
        "<text x=\"\(x)\" y=\"\(y)\" text-anchor=\"\(anchor)\" fill=\"\(colour)\">\(text)</text>"
    }

    private func x(_ size: Int) -> Double {
        let (first, last) = (log10(Double(sizes.first ?? 1)), log10(Double(sizes.last ?? 10)))
        return Self.margin + (log10(Double(size)) - first) / max(last - first, 1) * (Self.width - Self.margin - 40)
    }

    private func y(_ microseconds: Double) -> Double {
        let share = (log10(max(microseconds, 0.1)) - Self.fastest) / (Self.slowest - Self.fastest)
        return Self.height - Self.margin - min(max(share, 0), 1) * (Self.height - 2 * Self.margin)
    }

    private static func power(_ exponent: Int) -> Double { pow(10, Double(exponent)) }

    private static func label(_ power: Int) -> String {
        ["1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s"][power]
    }
}
