/// Files of the kinds that people sign, as small as programs accept.
enum ConsumerFiles {
    /// One page with one word.
    static let pdf: String = {
        let objects = [
            "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R /Resources << /Font << /F1 "
                + "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
            "<< /Length 35 >>\nstream\nBT /F1 18 Tf 20 100 Td (Text) Tj ET\nendstream",
        ]
        var (text, offsets) = ("%PDF-1.7\n", [Int]())
        for (index, object) in objects.enumerated() {
            offsets.append(text.utf8.count)
            text += "\(index + 1) 0 obj\n\(object)\nendobj\n"
        }
        let table = text.utf8.count
        text += "xref\n0 \(objects.count + 1)\n0000000000 65535 f \n"
        for offset in offsets { text += String(repeating: "0", count: 10 - "\(offset)".count) + "\(offset) 00000 n \n" }
        return text + "trailer\n<< /Size \(objects.count + 1) /Root 1 0 R >>\nstartxref\n\(table)\n%%EOF\n"
    }()

    /// A program for Windows that returns at once: PE32+, one section.
    static let windowsProgram: [UInt8] = {
        func number(_ value: UInt64, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        func numbers(_ count: Int, _ values: UInt64...) -> [UInt8] { values.flatMap { number($0, count) } }
        func padded(_ bytes: [UInt8]) -> [UInt8] { bytes + Array(repeating: 0, count: 512 - bytes.count) }

        let dosHeader = Array("MZ".utf8) + Array(repeating: 0, count: 58) + number(64, 4)
        let fileHeader = Array("PE\0\0".utf8) + numbers(2, 0x8664, 1) + numbers(4, 0, 0, 0) + numbers(2, 240, 0x22)
        let sizes = numbers(4, 512, 0, 0, 4096, 4096)
        let image = number(0x1_4000_0000, 8) + numbers(4, 4096, 512) + numbers(2, 6, 0, 0, 0, 6, 0)
        let limits = numbers(4, 0, 8192, 512, 0) + numbers(2, 3, 0) + numbers(8, 1 << 20, 4096, 1 << 20, 4096)
        let directories = numbers(4, 0, 16) + Array(repeating: 0, count: 128)
        let optionalHeader = number(0x20B, 2) + [14, 0] + sizes + image + limits + directories
        let section =
            Array(".text\0\0\0".utf8) + numbers(4, 1, 4096, 512, 512, 0, 0) + numbers(2, 0, 0) + number(0x6000_0020, 4)
        return padded(dosHeader + fileHeader + optionalHeader + section) + padded([0xC3])
    }()
}
