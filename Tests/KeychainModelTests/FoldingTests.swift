import Testing

@testable import KeychainModel

@Suite struct FoldingTests {
    @Test(arguments: [
        ("ANNA", "anna", true), ("Straße", "STRASSE", true), ("ΣΊΣΥΦΟΣ", "σίσυφος", true), ("é", "É", true),
        ("e\u{301}", "\u{E9}", true), ("é", "e", false), ("Ａ", "a", false),
    ])
    func caseIsOneDifference(left: String, right: String, isSame: Bool) {
        #expect((Folding.case.fold(left) == Folding.case.fold(right)) == isSame)
    }

    @Test(arguments: [
        ("Jörg", "Jorg", true), ("e\u{301}\u{323}", "e", true), ("ế", "e", true), ("Й", "И", true), ("ё", "е", true),
        ("Jörg", "jorg", false), ("ø", "o", false), ("ß", "ss", false), ("ガ", "カ", true),
    ])
    func marksAreAnother(left: String, right: String, isSame: Bool) {
        #expect((Folding.diacritics.fold(left) == Folding.diacritics.fold(right)) == isSame)
    }

    @Test(arguments: [
        ("ＡＢｃ１２！", "ABc12!", true), ("ｱｲｳ", "アイウ", true), ("ｶﾞ", "ガ", true), ("ｰ", "ー", true), ("｡", "。", true),
        ("ￒ", "ㅏ", false), ("Ａ", "a", false), ("é", "e", false), ("ﾡ", "ㄱ", true), ("￥", "¥", true),
    ])
    func widthIsTheThird(left: String, right: String, isSame: Bool) {
        #expect((Folding.width.fold(left) == Folding.width.fold(right)) == isSame)
    }

    @Test func allTogetherFoldEverything() {
        let all: Folding = [.case, .diacritics, .width]
        #expect(all.fold("ＪÖＲＧ") == all.fold("jorg"))
    }

    @Test func nothingFoldsNothing() {
        #expect(Folding().fold("Ａé") == "Ａé")
    }
}
